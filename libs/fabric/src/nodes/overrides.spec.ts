import type { FabricOverride } from '@coxswain/api-types';
import { withOverrides } from './overrides.ts';
import { factsOf } from '../testing/labelled-nodes.ts';

const OURS = 'fabric.coxswain.dev';

describe('what an administrator says of nodes', () => {
  const [node] = factsOf({ rack: 'r1', row: 'a' });

  it.each<[string, readonly FabricOverride[], Readonly<Record<string, string>> | undefined]>([
    ['of a node by its name', [{ nodes: ['n0', 'n1'], island: 'i' }], { [`${OURS}/nic-island`]: 'i' }],
    ['of nodes by a label', [{ nodeSelector: { rack: 'r1' }, island: 'i' }], { [`${OURS}/nic-island`]: 'i' }],
    ['of another node', [{ nodes: ['n0'], island: 'i' }], undefined],
    ['of nodes with another label beside', [{ nodeSelector: { rack: 'r1', row: 'b' }, island: 'i' }], undefined],
    [
      'of a node by name whose label is another',
      [{ nodes: ['n1'], nodeSelector: { rack: 'r2' }, island: 'i' }],
      undefined,
    ],
    ['of nodes that are not named', [{ island: 'i' }], undefined],
    ['of nodes by no label', [{ nodeSelector: {}, island: 'i' }], undefined],
    ['nothing', [{ nodes: ['n1'] }], undefined],
    [
      'later counts where it contradicts',
      [
        { nodes: ['n1'], island: 'i', nicCount: 8 },
        { nodes: ['n1'], island: 'j' },
      ],
      { [`${OURS}/nic-island`]: 'j', [`${OURS}/nic-count`]: '8' },
    ],
    [
      'of switches is near to far',
      [{ nodes: ['n1'], switches: ['leaf', 'spine'] }],
      { [`${OURS}/tier-0`]: 'leaf', [`${OURS}/tier-1`]: 'spine' },
    ],
  ])('%s', (_sentence, overrides, want) => {
    if (node === undefined) throw new Error('no node');
    expect(withOverrides(node, overrides).overrides).toEqual(want);
    if (want === undefined) expect(withOverrides(node, overrides)).toBe(node);
  });
});
