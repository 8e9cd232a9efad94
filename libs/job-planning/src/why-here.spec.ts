import type { FabricNode } from '@coxswain/fabric';
import { assumedTraffic } from '@coxswain/fabric';
import { aFabricNode } from '@coxswain/fabric/testing';
import { aLayout } from '@coxswain/layout/testing';
import { whyHere } from './why-here.ts';

const reasonOn = (...nodes: readonly Partial<FabricNode>[]): string => {
  const members = nodes.map((node, index) => aFabricNode({ name: `n${index}`, ...node }));
  const layout = aLayout({ tensorParallelDegree: 8, dataParallelDegree: members.length });
  const traffic = { ...assumedTraffic(layout), source: 'planned' as const };
  return whyHere(traffic, { nodes: members.map(({ name }) => name), ranksPerPod: 8 }, { nodes: members });
};
const below = (...switches: readonly string[]): Partial<FabricNode> => ({ switches });

describe('why ranks sit where they do', () => {
  it.each<[string, string, RegExp]>([
    [
      'racks that differ',
      reasonOn(below('a', 's'), below('b', 's')),
      /^In 2 racks of one island: a step sends [\d.]+ \w+ between nodes, [\d.]+ \w+ of it between racks\.$/,
    ],
    [
      'one rack',
      reasonOn(below('a'), below('a')),
      /^In one rack of one island: a step sends [\d.]+ \w+ between nodes\.$/,
    ],
    [
      'no racks where spines alone are told',
      reasonOn(below('s/?node:n0', 's'), below('s/?node:n1', 's')),
      /^In one island: a step sends [\d.]+ \w+ between nodes\.$/,
    ],
    ['racks that nobody tells', reasonOn({}, {}), /^In one island: a step sends [\d.]+ \w+ between nodes\.$/],
    [
      'an NVLink domain of several nodes',
      reasonOn({ nvlinkDomain: 'd' }, { nvlinkDomain: 'd' }),
      /^In one NVLink domain, one island: /,
    ],
    [
      'islands',
      reasonOn({}, { island: 'other' }),
      /^In 2 islands: a step sends .* between nodes, .* between islands\.$/,
    ],
  ])('names %s', (_what, sentence, want) => {
    expect(sentence).toMatch(want);
  });

  it('says that reachability is assumed below two blocks that no label joins', () => {
    const inBlock = (block: string): Partial<FabricNode> => below(`zone=a/google:gce-topology-block=${block}`);
    expect(reasonOn(inBlock('b1'), inBlock('b2'))).toMatch(
      /^In 2 racks of one island: .* No label says that nodes below b1, b2 reach each other; it is assumed, and preflight measures it\. /,
    );
    expect(reasonOn(inBlock('b1'), inBlock('b1'))).not.toMatch(/assumed/);
  });

  it('says nothing of one node', () => {
    expect(reasonOn({})).toBe('');
  });

  it('says where the bytes are those of a usual model', () => {
    const layout = aLayout({ dataParallelDegree: 2 });
    const nodes = ['n0', 'n1'].map((name) => aFabricNode({ name }));
    const gang = { nodes: ['n0', 'n1'], ranksPerPod: 1 };
    expect(whyHere(assumedTraffic(layout), gang, { nodes })).toMatch(/, if it is like a usual model\.$/);
  });
});
