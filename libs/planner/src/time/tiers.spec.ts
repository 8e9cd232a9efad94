import fc from 'fast-check';
import { RANK_ORDERS, type CandidateLayout, type ClusterFacts } from '../facts.ts';
import { aCandidate } from '../testing/candidates.ts';
import { aCluster } from '../testing/runs.ts';
import { groupsOf } from './groups.ts';
import { crossesIslands, domainGpusOf, membersPerBlock, membersPerDomain, type Group } from './tiers.ts';

const nodes = (gpus: number, overrides: Partial<ClusterFacts> = {}): ClusterFacts => aCluster(gpus, overrides);
const island = (gpus: number, scaleOutGbPerS = 50) =>
  ({ gpus, scaleOutGbPerS, nicKind: 'infiniband', relativeSpeed: 1 }) as const;

describe('members of a group in one scale-up domain', () => {
  it.each<[string, Group, number]>([
    ['all of a group of neighbours that fits', { size: 4, stride: 1 }, 4],
    ['as many as the domain has GPUs', { size: 32, stride: 1 }, 8],
    ['every second GPU', { size: 32, stride: 2 }, 4],
    ['two where strides leave room for them', { size: 4, stride: 4 }, 2],
    ['one where the next member is on the next node', { size: 4, stride: 8 }, 1],
    ['one where it is further away', { size: 2, stride: 64 }, 1],
    ['one where groups of three cannot all stay inside nodes of eight', { size: 3, stride: 1 }, 1],
    ['half of a group of twelve, which is on two nodes with four on one of them', { size: 12, stride: 1 }, 4],
  ])('are %s', (_sentence, group, want) => {
    expect(membersPerDomain(nodes(64), group)).toBe(want);
  });
});

/** Every group that one axis or two make, rank by rank. */
function groupsAlong(layout: CandidateLayout, axes: readonly string[]): readonly (readonly number[])[] {
  const degrees: Readonly<Record<string, number>> = {
    tp: layout.tensor,
    cp: layout.context,
    dp: layout.data,
    pp: layout.pipeline,
  };
  const groups = new Map<string, number[]>();
  for (let rank = 0; rank < layout.tensor * layout.context * layout.data * layout.pipeline; rank++) {
    let rest = rank;
    const others = (layout.rankOrder ?? '').split('-').map((axis) => {
      const place = rest % (degrees[axis] ?? 1);
      rest = Math.floor(rest / (degrees[axis] ?? 1));
      return axes.includes(axis) ? 0 : place;
    });
    const key = others.join();
    groups.set(key, [...(groups.get(key) ?? []), rank]);
  }
  return [...groups.values()];
}

const degreeOf = (...degrees: readonly number[]) =>
  fc.record({
    tensor: fc.constantFrom(...degrees),
    context: fc.constantFrom(...degrees),
    data: fc.constantFrom(...degrees),
    pipeline: fc.constantFrom(...degrees),
    rankOrder: fc.constantFrom(...RANK_ORDERS),
  });
const KINDS = [
  ['context', ['cp']],
  ['pipeline', ['pp']],
  ['dense', ['cp', 'dp']],
] as const;

describe('the span of a group follows from its ranks', () => {
  const fewest = (groups: readonly (readonly number[])[], block: number): number =>
    Math.min(
      ...groups.flatMap((ranks) =>
        [...Map.groupBy(ranks, (rank) => Math.floor(rank / block)).values()].map((of) => of.length),
      ),
    );

  it.each(KINDS)('in every order of axes: members of a %s group that share a block of GPUs', (kind, axes) => {
    fc.assert(
      fc.property(degreeOf(1, 2, 4, 8), fc.constantFrom(2, 4, 8, 16, 64), (degrees, block) => {
        const layout = aCandidate(degrees);
        expect(membersPerBlock(groupsOf(layout)[kind], block)).toBe(fewest(groupsAlong(layout, axes), block));
      }),
    );
  });

  it.each(KINDS)(
    'degrees that do not tile the block: never more members of a %s group than its worst one has',
    (kind, axes) => {
      fc.assert(
        fc.property(degreeOf(1, 2, 3, 5, 6), fc.constantFrom(4, 8, 12, 72), (degrees, block) => {
          const layout = aCandidate(degrees);
          const worst = fewest(
            groupsAlong(layout, axes),
            Math.min(block, layout.tensor * layout.context * layout.data * layout.pipeline),
          );
          expect(
            membersPerDomain(
              nodes(layout.tensor * layout.context * layout.data * layout.pipeline, {
                gpusPerNode: block,
                scaleUpDomainGpus: block,
              }),
              groupsOf(layout)[kind],
            ),
          ).toBeLessThanOrEqual(worst);
        }),
      );
    },
  );

  it.each(KINDS)('in every order of axes: whether some %s group lies on two islands', (kind, axes) => {
    fc.assert(
      fc.property(degreeOf(1, 2, 3, 4), fc.integer({ min: 1, max: 255 }), (degrees, border) => {
        const layout = aCandidate(degrees);
        const group = groupsOf(layout)[kind];
        const world = layout.tensor * layout.context * layout.data * layout.pipeline;
        if (border >= world || group.size === 1) return;
        const isSplit = groupsAlong(layout, axes).some(
          (ranks) => new Set(ranks.map((rank) => rank < border)).size === 2,
        );
        const cluster = nodes(world, { islands: [island(border), island(world - border)] });
        expect(crossesIslands(cluster, group)).toBe(isSplit);
      }),
    );
  });
});

describe('GPUs of a scale-up domain that a job uses', () => {
  it.each<[string, number, number, number]>([
    ['all that it has, where they fit into one', 64, 72, 64],
    ['whole racks where they fill them', 144, 72, 72],
    ['64 of each of 8 racks of 72', 512, 72, 64],
    ['the whole rack where no even share is more than half of it', 296, 72, 72],
    ['whole nodes where the domain is the node', 24, 8, 8],
  ])('are %s', (_sentence, gpus, scaleUpDomainGpus, want) => {
    expect(domainGpusOf(nodes(gpus, { gpusPerNode: Math.min(4, scaleUpDomainGpus), scaleUpDomainGpus }))).toBe(want);
  });
});

describe('crossing islands', () => {
  it.each<[string, readonly number[], Group, boolean]>([
    ['a group as large as both does', [16, 16], { size: 4, stride: 8 }, true],
    ['groups that tile each island do not', [16, 16], { size: 2, stride: 8 }, false],
    ['one of the groups does where an island is no multiple of them', [12, 20], { size: 8, stride: 1 }, true],
    ['the end of the last island is no border', [32], { size: 5, stride: 1 }, false],
  ])('%s', (_sentence, sizes, group, want) => {
    const gpus = sizes.reduce((sum, size) => sum + size, 0);
    expect(crossesIslands(nodes(gpus, { islands: sizes.map((size) => island(size)) }), group)).toBe(want);
  });
});
