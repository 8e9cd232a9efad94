import { type ParallelLayout, worldSize } from '@coxswain/layout';
import fc from 'fast-check';
import { assumedTraffic } from '../traffic/assumed-traffic.ts';
import { bestOfAll, type FewPods } from './best-placement.ts';
import type { FabricNode } from '../nodes/fabric.ts';
import { type AcrossIslands, gangShape, ranksInDomain } from '../traffic/gang-shape.ts';
import { placementCost } from './least-crossing.ts';
import { openNodes } from '../capacity/open-nodes.ts';
import { bestPlacementCost } from '../testing/best-placement.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

/** Nodes of 1 to 4 GPUs, domains of one node or several, up to three tiers that a node may tell in part, one island or two. */
const aFabric = (most: number): fc.Arbitrary<readonly FabricNode[]> =>
  fc
    .record({
      nodes: fc.array(
        fc.record({
          gpus: fc.constantFrom(1, 2, 4, 4),
          leaf: fc.nat(3),
          domain: fc.nat(1),
          hasDomain: fc.boolean(),
          isLabelled: fc.constantFrom(true, true, true, false),
        }),
        { minLength: 4, maxLength: most },
      ),
      depth: fc.nat(3),
      islands: fc.constantFrom(1, 1, 2),
    })
    .map(({ nodes, depth, islands }) =>
      nodes.map(({ gpus, leaf, domain, hasDomain, isLabelled: isLabelled }, index) => {
        const island = `i${(leaf % 2) % islands}`;
        const switches = [`l${leaf}`, `s${leaf % 2}`, 'c'].map((name) => `${island}/${name}`).slice(0, depth);
        const nvlinkDomain = hasDomain && isLabelled ? `d${leaf}-${domain}` : `node:n${index}`;
        return aFabricNode({ name: `n${index}`, gpus, island, switches: isLabelled ? switches : [], nvlinkDomain });
      }),
    );

/** Pods that hold stages, cut them, or cut tensor groups; the last may be smaller; experts. */
const aGang = fc.constantFrom<{ readonly ranksPerPod: number; readonly layout: ParallelLayout }[]>(
  { ranksPerPod: 4, layout: { tensorParallelDegree: 1, pipelineParallelDegree: 2, dataParallelDegree: 6 } },
  { ranksPerPod: 2, layout: { tensorParallelDegree: 1, pipelineParallelDegree: 2, dataParallelDegree: 3 } },
  { ranksPerPod: 2, layout: { tensorParallelDegree: 1, pipelineParallelDegree: 3, dataParallelDegree: 3 } },
  { ranksPerPod: 2, layout: { tensorParallelDegree: 4, pipelineParallelDegree: 1, dataParallelDegree: 2 } },
  { ranksPerPod: 1, layout: { tensorParallelDegree: 1, pipelineParallelDegree: 2, dataParallelDegree: 2 } },
  { ranksPerPod: 4, layout: { tensorParallelDegree: 2, pipelineParallelDegree: 3, dataParallelDegree: 3 } },
  {
    ranksPerPod: 2,
    layout: {
      tensorParallelDegree: 1,
      pipelineParallelDegree: 1,
      dataParallelDegree: 8,
      expert: { expertParallelDegree: 4 },
    },
  },
);

const across = fc.constantFrom<AcrossIslands[]>('never', 'pipeline', 'anyGroup');

function aQuestion(
  nodes: readonly FabricNode[],
  { layout, ranksPerPod }: { readonly layout: ParallelLayout; readonly ranksPerPod: number },
  acrossIslands: AcrossIslands,
): FewPods {
  const capacity = aFabricCapacity(nodes);
  return {
    shape: gangShape(layout, ranksPerPod),
    traffic: assumedTraffic(layout),
    acrossIslands,
    open: openNodes(capacity),
    fabric: capacity.fabric,
    known: Infinity,
  };
}

/** The least of every way to give pods nodes of their own, one by one; Infinity where the rules allow none. */
function leastOfEveryWay(question: FewPods, chosen: readonly FabricNode[] = []): number {
  const { shape, open, acrossIslands } = question;
  if (chosen.length === shape.pods) {
    return isAllowed(question, chosen)
      ? placementCost(
          question,
          chosen.map(({ name }) => name),
        )
      : Infinity;
  }
  const needs = chosen.length === shape.pods - 1 ? shape.lastPodRanks : shape.ranksPerPod;
  const rest = open.filter(({ node, free }) => free >= needs && !chosen.includes(node));
  return Math.min(...rest.map(({ node }) => leastOfEveryWay({ ...question, acrossIslands }, [...chosen, node])));
}

function isAllowed({ shape, acrossIslands }: FewPods, chosen: readonly FabricNode[]): boolean {
  const { layout, worldSize: ranks, ranksPerPod } = shape;
  const areAlike = (size: number, of: (node: FabricNode) => string): boolean =>
    Array.from({ length: ranks }, (_, rank) => rank).every((rank) => {
      const [one, first] = [rank, rank - (rank % size)].map((at) => chosen[Math.floor(at / ranksPerPod)]);
      return one !== undefined && first !== undefined && of(one) === of(first);
    });
  const stage = ranks / layout.pipelineParallelDegree;
  const inIsland = { never: ranks, pipeline: stage, anyGroup: 1 }[acrossIslands];
  return (
    areAlike(ranksInDomain(layout), ({ nvlinkDomain }) => nvlinkDomain) && areAlike(inIsland, ({ island }) => island)
  );
}

describe('the best of all placements of few pods', () => {
  it('is the least of every way to give pods nodes', () => {
    let placed = 0;
    fc.assert(
      fc.property(aFabric(6), aGang, across, (nodes, gang, acrossIslands) => {
        const question = aQuestion(nodes, gang, acrossIslands);
        fc.pre(question.shape.pods <= 5);
        const best = bestOfAll(question, Infinity).cost;
        const least = leastOfEveryWay(question);
        if (least === Infinity) {
          expect(best).toBe(Infinity);
          return;
        }
        placed++;
        expect(best / least).toBeCloseTo(1, 9);
        const { nodes: names = [] } = bestOfAll(question, Infinity);
        expect(placementCost(question, names) / least).toBeCloseTo(1, 9);
        expect(
          isAllowed(
            question,
            names.flatMap((name) => nodes.find((node) => node.name === name) ?? []),
          ),
        ).toBe(true);
        // What is known already is no worse, and a known one that is better than any stays.
        expect(bestOfAll({ ...question, known: least }, Infinity).cost / least).toBeCloseTo(1, 9);
        expect(bestOfAll({ ...question, known: least * 0.9 }, Infinity)).toEqual({ cost: least * 0.9, isWhole: true });
      }),
      { numRuns: 60 },
    );
    expect(placed).toBeGreaterThan(10);
  });

  it('is what looking at more nodes, those that look alike once, finds too', () => {
    let placed = 0;
    fc.assert(
      fc.property(aFabric(10), aGang, across, (nodes, gang, acrossIslands) => {
        const question = aQuestion(nodes, gang, acrossIslands);
        const { traffic, shape, open } = question;
        fc.pre(shape.pods <= 6);
        const request = { layout: gang.layout, traffic, acrossIslands };
        const least = bestPlacementCost(request, shape.ranksPerPod, open) ?? Infinity;
        const best = bestOfAll(question, Infinity).cost;
        if (least === Infinity) {
          expect(best).toBe(Infinity);
          return;
        }
        placed++;
        expect(best / least).toBeCloseTo(1, 9);
      }),
      { numRuns: 60 },
    );
    expect(placed).toBeGreaterThan(10);
  });

  it('is found in the one place that can do what roomier ones cannot', () => {
    const leaf = (name: string, domains: readonly string[]): readonly FabricNode[] =>
      domains.map((nvlinkDomain, at) =>
        aFabricNode({ name: `${name}-${at}`, gpus: 2, switches: [name, 's'], nvlinkDomain }),
      );
    const nodes = [
      ...['a', 'b', 'c'].flatMap((name) => leaf(name, [`${name}0`, `${name}1`, `${name}2`])),
      ...leaf('d', ['pair', 'pair']),
    ];
    const layout = { tensorParallelDegree: 4, pipelineParallelDegree: 1, dataParallelDegree: 1 };
    expect(bestOfAll(aQuestion(nodes, { layout, ranksPerPod: 2 }, 'never'), Infinity).nodes).toEqual(['d-0', 'd-1']);
  });

  it('is on the tightest of places that can do the same, and a smaller last pod where only it has room in its domain', () => {
    const leaf = (name: string, sizes: readonly number[]): readonly FabricNode[] =>
      sizes.map((gpus, at) => aFabricNode({ name: `${name}-${at}`, gpus, switches: [name, 's'] }));
    const whole = [...leaf('a', [4, 4, 4, 4, 4, 4, 4]), ...leaf('b', [4, 4, 4]), ...leaf('c', [4, 4, 4, 4])];
    const three = { tensorParallelDegree: 1, pipelineParallelDegree: 2, dataParallelDegree: 6 };
    const best = bestOfAll(aQuestion(whole, { layout: three, ranksPerPod: 4 }, 'never'), Infinity);
    expect(best.nodes?.toSorted()).toEqual(['b-0', 'b-1', 'b-2']);
    const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 2, dataParallelDegree: 5 };
    const domain = leaf('a', [4, 4, 4, 2]).map((node) => ({ ...node, nvlinkDomain: 'd' }));
    const mixed = aQuestion(domain, { layout, ranksPerPod: 4 }, 'never');
    expect(bestOfAll(mixed, Infinity).nodes).toEqual(['a-0', 'a-1', 'a-3']);
  });

  it.each<[string, ParallelLayout, number, number]>([
    ['six pods that cut stages', { tensorParallelDegree: 1, pipelineParallelDegree: 4, dataParallelDegree: 6 }, 10, 4],
    ['on leaves of three', { tensorParallelDegree: 1, pipelineParallelDegree: 4, dataParallelDegree: 6 }, 3, 4],
    ['eight on leaves of two', { tensorParallelDegree: 1, pipelineParallelDegree: 4, dataParallelDegree: 8 }, 2, 4],
  ])('is told of ten thousand nodes alike for as many tries as of forty: %s', (_sentence, layout, perLeaf, gpus) => {
    const fabricOf = (count: number): readonly FabricNode[] =>
      Array.from({ length: count }, (_, at) => {
        const leaf = Math.floor(at / perLeaf);
        return aFabricNode({ name: `n${at}`, gpus, switches: [`l${leaf}`, `s${Math.floor(leaf / 4)}`] });
      });
    const tries = triesOf(aQuestion(fabricOf(perLeaf * 4 * 16), { layout, ranksPerPod: gpus }, 'never'));
    expect(worldSize(layout)).toBe(gangShape(layout, gpus).pods * gpus);
    expect(triesOf(aQuestion(fabricOf(perLeaf * 4 * 200), { layout, ranksPerPod: gpus }, 'never'))).toBe(tries);
  });
});

/** The fewest that are enough, to a factor of two. */
function triesOf(question: FewPods): number {
  let tries = 1;
  while (!bestOfAll(question, tries).isWhole) tries *= 2;
  return tries;
}
