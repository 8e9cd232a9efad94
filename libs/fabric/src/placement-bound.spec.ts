import type { ParallelLayout } from '@coxswain/layout';
import { assumedTraffic } from './assumed-traffic.ts';
import { weightedBytes } from './boundary-weights.ts';
import { crossingBytes } from './crossing-bytes.ts';
import { leastWeightedBytes } from './placement-bound.ts';
import { placeGang } from './placement.ts';
import { aFabricCapacity, aFabricNode } from './testing/index.ts';

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
});
