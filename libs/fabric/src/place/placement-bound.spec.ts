import { type ParallelLayout, worldSize } from '@coxswain/layout';
import { assumedTraffic } from '../traffic/assumed-traffic.ts';
import { weightedBytes } from '../traffic/boundary-weights.ts';
import { crossingBytes } from '../traffic/crossing-bytes.ts';
import { openNodes } from '../capacity/open-nodes.ts';
import { leastWeightedBytes } from './placement-bound.ts';
import { placeGang } from './placement.ts';
import { bestPlacementCost } from '../testing/best-placement.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

const LAYOUT: ParallelLayout = { tensorParallelDegree: 8, pipelineParallelDegree: 2, dataParallelDegree: 2 };
const capacityOf = (switches: readonly (readonly string[])[], usedGpus = {}) =>
  aFabricCapacity(
    switches.map((above, index) => aFabricNode({ name: `n${index}`, switches: above })),
    usedGpus,
  );

describe('the least weighted bytes', () => {
  it.each([
    ['four nodes below one leaf', capacityOf(['l', 'l', 'l', 'l'].map((leaf) => [leaf, 's']))],
    ['two leaves of two', capacityOf(['l', 'm', 'l', 'm'].map((leaf) => [leaf, 's']))],
    [
      'a leaf that is full',
      capacityOf(
        ['l', 'l', 'm', 'm', 'm', 'm'].map((leaf) => [leaf, 's']),
        { n0: 8 },
      ),
    ],
  ])('are what the placement has on %s', (_sentence, capacity) => {
    const placed = placeGang({ layout: LAYOUT }, capacity);
    if (placed.kind !== 'placed') throw new Error(placed.message);
    const nodeOfRank = Array.from({ length: 32 }, (_, rank) => placed.nodes[Math.floor(rank / 8)] ?? '');
    const has = weightedBytes(crossingBytes(assumedTraffic(LAYOUT), nodeOfRank, capacity.fabric));
    expect(leastWeightedBytes({ layout: LAYOUT }, placed.ranksPerPod, capacity) / has).toBeCloseTo(1, 9);
  });

  it.each<[string, Omit<ParallelLayout, 'tensorParallelDegree'> & { readonly tensorParallelDegree?: number }, number]>([
    ['three stages and a bit in each of three pods', { pipelineParallelDegree: 4, dataParallelDegree: 3 }, 6],
    ['four pods for six replicas of four stages', { pipelineParallelDegree: 4, dataParallelDegree: 6 }, 8],
    ['a stage and a half in a pod', { tensorParallelDegree: 2, pipelineParallelDegree: 4, dataParallelDegree: 3 }, 8],
  ])('are what the best of all placements has where few pods cut stages: %s', (_sentence, degrees, count) => {
    const layout: ParallelLayout = { tensorParallelDegree: 1, ...degrees };
    const nodes = Array.from({ length: count }, (_, at) =>
      aFabricNode({ name: `n${at}`, gpus: 4, switches: [`l${Math.floor(at / 2)}`, `s${Math.floor(at / 4)}`] }),
    );
    const capacity = aFabricCapacity(nodes, { n1: 4 });
    const placed = placeGang({ layout }, capacity);
    if (placed.kind !== 'placed') throw new Error(placed.message);
    const { ranksPerPod } = placed;
    const best = bestPlacementCost({ layout, traffic: assumedTraffic(layout) }, ranksPerPod, openNodes(capacity));
    const least = leastWeightedBytes({ layout }, ranksPerPod, capacity, placed.nodes);
    expect(least / (best ?? 0)).toBeCloseTo(1, 9);
    expect(leastWeightedBytes({ layout }, ranksPerPod, capacity)).toBeLessThan(least * 0.9);
  });

  it.each<[string, Pick<ParallelLayout, 'pipelineParallelDegree' | 'dataParallelDegree'>, number]>([
    ['leaves of ten', { pipelineParallelDegree: 4, dataParallelDegree: 6 }, 10],
    ['leaves of two, whose search alone ends half above', { pipelineParallelDegree: 5, dataParallelDegree: 6 }, 2],
  ])(
    'are what the placement has where few pods cut stages, on a thousand nodes alike: %s',
    (_sentence, degrees, per) => {
      const layout: ParallelLayout = { tensorParallelDegree: 1, ...degrees };
      const nodes = Array.from({ length: 1_000 }, (_, at) => {
        const leaf = Math.floor(at / per);
        return aFabricNode({ name: `n${at}`, gpus: 4, switches: [`l${leaf}`, `s${Math.floor(leaf / 2)}`] });
      });
      const capacity = aFabricCapacity(nodes);
      const placed = placeGang({ layout }, capacity);
      if (placed.kind !== 'placed') throw new Error(placed.message);
      const { ranksPerPod } = placed;
      const nodeOfRank = Array.from(
        { length: worldSize(layout) },
        (_, rank) => placed.nodes[Math.floor(rank / 4)] ?? '',
      );
      const has = weightedBytes(crossingBytes(assumedTraffic(layout), nodeOfRank, capacity.fabric));
      expect(leastWeightedBytes({ layout }, ranksPerPod, capacity, placed.nodes) / has).toBeCloseTo(1, 9);
    },
  );

  it('are those of one type of GPU where one has enough, since gangs are not mixed then', () => {
    const nodes = Array.from({ length: 8 }, (_, index) => ({
      ...aFabricNode({ name: `n${index}`, switches: [`l${Math.floor(index / 4)}`, 's'] }),
      gpuType: index % 2 === 0 ? 'H100' : 'A100',
    }));
    const placed = placeGang({ layout: LAYOUT }, aFabricCapacity(nodes));
    if (placed.kind !== 'placed') throw new Error(placed.message);
    const nodeOfRank = Array.from({ length: 32 }, (_, rank) => placed.nodes[Math.floor(rank / 8)] ?? '');
    const has = weightedBytes(crossingBytes(assumedTraffic(LAYOUT), nodeOfRank, { nodes }));
    const alike = nodes.map((node) => ({ ...node, gpuType: 'H100' }));
    expect(leastWeightedBytes({ layout: LAYOUT }, placed.ranksPerPod, aFabricCapacity(nodes)) / has).toBeCloseTo(1, 9);
    expect(leastWeightedBytes({ layout: LAYOUT }, placed.ranksPerPod, aFabricCapacity(alike))).toBeLessThan(has);
  });

  it.each([
    // A ring leaves one unit on another leaf, wherever it is cut.
    ['rings of 4 on racks of 3', 2, 4, Array.from({ length: 12 }, (_, at) => [`l${at % 4}`, 's'])],
  ])('know that what a switch does not hold of a group lies on another: %s', (_sentence, pipeline, data, switches) => {
    const layout: ParallelLayout = {
      tensorParallelDegree: 8,
      pipelineParallelDegree: pipeline,
      dataParallelDegree: data,
    };
    const capacity = capacityOf(switches);
    const placed = placeGang({ layout }, capacity);
    if (placed.kind !== 'placed') throw new Error(placed.message);
    const nodeOfRank = Array.from(
      { length: 8 * pipeline * data },
      (_, rank) => placed.nodes[Math.floor(rank / 8)] ?? '',
    );
    const has = weightedBytes(crossingBytes(assumedTraffic(layout), nodeOfRank, capacity.fabric));
    const [byCount, byPieces] = [undefined, placed.nodes].map((known) =>
      leastWeightedBytes({ layout }, placed.ranksPerPod, capacity, known),
    );
    expect(byCount).toBeLessThan(has * (1 - 1e-6));
    expect((byPieces ?? 0) / has).toBeCloseTo(1, 9);
  });

  it('are those of parts on their types of GPU, where stages are planned for several', () => {
    const nodes = ['H100', 'A100'].flatMap((gpuType) =>
      Array.from({ length: 6 }, (_, index) => ({
        ...aFabricNode({ name: `${gpuType}-${index}`, switches: [`${gpuType}/${index % 2}`, gpuType] }),
        gpuType,
      })),
    );
    const layout: ParallelLayout = { tensorParallelDegree: 8, pipelineParallelDegree: 4, dataParallelDegree: 3 };
    const request = {
      layout,
      acrossIslands: 'anyGroup' as const,
      stageGpus: ['H100', 'A100'].map((gpuType) => ({ stages: 2, gpuType })),
    };
    const placed = placeGang(request, aFabricCapacity(nodes));
    if (placed.kind !== 'placed') throw new Error(placed.message);
    const nodeOfRank = Array.from({ length: 96 }, (_, rank) => placed.nodes[Math.floor(rank / 8)] ?? '');
    const has = weightedBytes(crossingBytes(assumedTraffic(layout), nodeOfRank, { nodes }));
    const least = leastWeightedBytes(request, placed.ranksPerPod, aFabricCapacity(nodes), placed.nodes);
    expect(least / has).toBeCloseTo(1, 9);
  });
});
