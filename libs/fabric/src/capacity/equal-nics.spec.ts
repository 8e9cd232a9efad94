import { capacitiesOfEqualNics, needsEqualNics, unequalNics, unequalNicsMessage } from './equal-nics.ts';
import { aLayout } from '@coxswain/layout/testing';
import type { FabricNode } from '../nodes/fabric.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';
import type { AcrossIslands } from '../traffic/gang-shape.ts';

/** Nodes named `a`, `b` and so on; where a number of NICs is undefined, a node does not say it. */
const withNics = (...counts: readonly (number | undefined)[]): readonly FabricNode[] =>
  counts.map((nicCount, index) =>
    aFabricNode({ name: 'abcdefghij'.charAt(index), ...(nicCount === undefined ? {} : { nicCount }) }),
  );

describe('NICs of the nodes of a gang', () => {
  it.each<[AcrossIslands | undefined, boolean]>([
    [undefined, true],
    ['never', true],
    ['pipeline', true],
    ['anyGroup', false],
  ])('have to be equally many where groups cross islands %j: %j', (acrossIslands, want) => {
    const request = { layout: aLayout({}), ...(acrossIslands === undefined ? {} : { acrossIslands }) };
    expect(needsEqualNics(request)).toBe(want);
  });

  it.each<[string, readonly FabricNode[], readonly string[]]>([
    ['all of one number', withNics(8, 8, undefined), []],
    ['none that says it', withNics(undefined, undefined), []],
    ['most nodes first, each with those that do not say it', withNics(8, 7, 7, undefined), ['bcd', 'ad']],
    ['the greater number first of as many nodes', withNics(7, 8), ['b', 'a']],
  ])('%s: what is tried in turn', (_sentence, nodes, want) => {
    const usable = capacitiesOfEqualNics(aFabricCapacity(nodes)).map(({ fabric }) =>
      fabric.nodes.flatMap((node) => (node.usable ? [node.name] : [])).join(''),
    );
    expect(usable).toEqual(want);
  });

  it.each<[string, readonly FabricNode[], string, string | undefined]>([
    ['differ among those of the gang', withNics(8, 7), 'a b', '8 on a; 7 on b'],
    ['differ, those of most nodes first', withNics(8, 7, 7), 'a b c', '7 on b, c; 8 on a'],
    [
      'are told of three nodes by name',
      withNics(7, 8, 8, 8, 8, 8).toReversed(),
      'a b c d e f',
      '8 on b, c, d and 2 more; 7 on a',
    ],
    ['are as many where the other node is not of the gang', withNics(8, 8, 7), 'a b', undefined],
    ['are not held against a node that does not say it', withNics(8, undefined), 'a b', undefined],
  ])('%s', (_sentence, nodes, gang, want) => {
    const unequal = unequalNics(gang.split(' '), aFabricCapacity(nodes));
    expect(unequal === undefined ? undefined : unequalNicsMessage(unequal)).toBe(
      want === undefined
        ? undefined
        : `The nodes that are free have unequal numbers of NICs, on which NCCL hangs: ${want}. Mend or cordon those that lack some, or correct their label fabric.coxswain.dev/nic-count.`,
    );
  });
});
