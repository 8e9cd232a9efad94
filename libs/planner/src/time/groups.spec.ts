import fc from 'fast-check';
import { RANK_ORDERS, type CandidateLayout, type RankOrder } from '../facts.ts';
import { aCandidate } from '../testing/candidates.ts';
import { groupsOf } from './groups.ts';
import type { Group } from './tiers.ts';

type Axis = 'tp' | 'cp' | 'dp' | 'pp';

/** Ranks that differ from rank 0 on some of the axes only, counted out one by one with the first axis fastest. */
function ranksAlong(order: RankOrder, layout: CandidateLayout, axes: readonly Axis[]): readonly number[] {
  const degrees = { tp: layout.tensor, cp: layout.context, dp: layout.data, pp: layout.pipeline };
  const names = order.split('-') as readonly Axis[];
  const ranks: number[] = [];
  const world = layout.tensor * layout.context * layout.data * layout.pipeline;
  for (let rank = 0; rank < world; rank++) {
    let rest = rank;
    const moved = names.filter((axis) => {
      const place = rest % degrees[axis];
      rest = Math.floor(rest / degrees[axis]);
      return place > 0;
    });
    if (moved.every((axis) => axes.includes(axis))) ranks.push(rank);
  }
  return ranks;
}

function membersOf({ size, stride, runs }: Group): readonly number[] {
  const length = runs?.length ?? size;
  return Array.from(
    { length: size },
    (_, member) => (member % length) * stride + Math.floor(member / length) * (runs?.stride ?? 0),
  );
}

const degree = fc.constantFrom(1, 2, 3, 4);
const layouts = fc
  .record({
    tensor: degree,
    context: degree,
    data: degree,
    pipeline: degree,
    rankOrder: fc.constantFrom(...RANK_ORDERS),
  })
  .map((choices) => ({ layout: aCandidate(choices), order: choices.rankOrder }));

describe('groups of a layout', () => {
  it.each<['context' | 'pipeline', Axis]>([
    ['context', 'cp'],
    ['pipeline', 'pp'],
  ])('put the members of a %s group where the rank order counts them', (group, axis) => {
    fc.assert(
      fc.property(layouts, ({ layout, order }) => {
        const { size, stride } = groupsOf(layout)[group];
        const members = Array.from({ length: size }, (_, member) => member * stride);
        expect(members).toEqual(ranksAlong(order, layout, [axis]));
      }),
    );
  });

  it('let data and context ranks together hold the same dense weights, wherever the pipeline lies', () => {
    fc.assert(
      fc.property(layouts, ({ layout, order }) => {
        expect(membersOf(groupsOf(layout).dense)).toEqual(ranksAlong(order, layout, ['cp', 'dp']));
      }),
    );
  });

  it('cut these into ranks that share one copy of the states and ranks that hold the others', () => {
    fc.assert(
      fc.property(layouts, fc.integer({ min: 1, max: 16 }), ({ layout, order }, wanted) => {
        const all = ranksAlong(order, layout, ['cp', 'dp']);
        const near = layout.context > 1 && order.indexOf('cp') < order.indexOf('dp') ? layout.context : layout.data;
        const shardGroup =
          [wanted, near, all.length].find(
            (size) => all.length % size === 0 && (near % size === 0 || size % near === 0),
          ) ?? 1;
        const { shard, replicas } = groupsOf({ ...layout, shardGroup });
        expect(membersOf(shard)).toEqual(all.slice(0, shardGroup));
        expect(membersOf(replicas)).toEqual(all.filter((_, place) => place % shardGroup === 0));
      }),
    );
  });

  it.each<
    [string, Partial<CandidateLayout>, ReturnType<typeof groupsOf>['shard'], ReturnType<typeof groupsOf>['replicas']]
  >([
    ['over all replicas', { tensor: 2, data: 8 }, { size: 8, stride: 2 }, { size: 1, stride: 16 }],
    [
      'over groups of 4 of them, of which there are 2',
      { tensor: 2, data: 8, shardGroup: 4 },
      { size: 4, stride: 2 },
      { size: 2, stride: 8 },
    ],
    ['over no more than there are', { data: 2, shardGroup: 8 }, { size: 2, stride: 1 }, { size: 1, stride: 2 }],
    ['over context ranks as well', { context: 2, data: 4 }, { size: 8, stride: 1 }, { size: 1, stride: 8 }],
  ])('shard states %s', (_sentence, layout, shard, replicas) => {
    const groups = groupsOf(aCandidate(layout));
    expect(groups.shard).toEqual(shard);
    expect(groups.replicas.size).toBe(replicas.size);
    if (replicas.size > 1) expect(groups.replicas).toEqual(replicas);
  });

  it.each<[string, Partial<CandidateLayout>, ReturnType<typeof groupsOf>['expertData']]>([
    ['every fourth rank with 4 expert ranks', { data: 16, expert: 4 }, { size: 4, stride: 4 }],
    [
      'every eighth with 2 tensor ranks for each of them',
      { tensor: 2, data: 8, expert: 4, expertTensor: 2 },
      { size: 2, stride: 8 },
    ],
    ['nobody where all ranks are needed for one copy', { data: 8, expert: 8 }, { size: 1, stride: 8 }],
  ])('have the same expert weights on %s', (_sentence, layout, want) => {
    expect(groupsOf(aCandidate(layout)).expertData).toEqual(want);
  });
});

describe('groups that are asked for one after the other', () => {
  it.each<[of: keyof CandidateLayout, layout: Partial<CandidateLayout>]>([
    ['tensor', { tensor: 4 }],
    ['context', { context: 4 }],
    ['pipeline', { pipeline: 4, rankOrder: 'tp-pp-cp-dp' }],
    ['data', { data: 4 }],
    ['shardGroup', { shardGroup: 2 }],
    ['expert', { expert: 4 }],
    ['expertTensor', { expertTensor: 2 }],
    ['rankOrder', { rankOrder: 'tp-dp-cp-pp' }],
  ])('are not those of a layout with another %s', (_of, layout) => {
    const before = aCandidate({ tensor: 2, context: 2, pipeline: 2, data: 2, shardGroup: 4, expert: 2 });
    groupsOf(before);
    const changed = groupsOf({ ...before, ...layout });
    groupsOf(aCandidate({ tensor: 3 }));
    expect(changed).toEqual(groupsOf({ ...before, ...layout }));
    expect(changed).not.toEqual(groupsOf(before));
  });
});
