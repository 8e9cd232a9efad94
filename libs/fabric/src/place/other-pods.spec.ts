import type { ParallelLayout } from '@coxswain/layout';
import { assumedTraffic } from '../traffic/assumed-traffic.ts';
import { gangShape } from '../traffic/gang-shape.ts';
import { placementCost } from './least-crossing.ts';
import { cheaperPods, cheaperPodsText } from './other-pods.ts';
import { placeGang } from './placement.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

const THREE_STAGES: ParallelLayout = { tensorParallelDegree: 1, pipelineParallelDegree: 3, dataParallelDegree: 6 };

function asked(layout: ParallelLayout, { gpus = 8, count = 4, gpusPerNode = 0, used = {} } = {}) {
  const nodes = Array.from({ length: count }, (_, at) => aFabricNode({ name: `n${at}`, gpus, switches: ['l', 's'] }));
  const capacity = aFabricCapacity(nodes, used);
  const request = { layout, ...(gpusPerNode === 0 ? {} : { gpusPerNode }) };
  const placed = placeGang(request, capacity);
  if (placed.kind !== 'placed') throw new Error(placed.message);
  const costOf = (ranksPerPod: number, names: readonly string[]): number =>
    placementCost(
      { shape: gangShape(layout, ranksPerPod), traffic: assumedTraffic(layout), fabric: capacity.fabric },
      names,
    );
  const { ranksPerPod, nodes: names } = placed;
  return { ranksPerPod, weightedBytes: costOf(ranksPerPod, names), other: cheaperPods(request, capacity, placed) };
}

describe('pods of fewer ranks', () => {
  it('are told where they keep stages whole and weigh less', () => {
    const { ranksPerPod, weightedBytes, other } = asked(THREE_STAGES);
    expect([ranksPerPod, other?.ranksPerPod, other?.pods]).toEqual([8, 6, 3]);
    expect((other?.weightedBytes ?? Infinity) / weightedBytes).toBeLessThan(0.9);
    expect(other === undefined ? '' : cheaperPodsText(other)).toMatch(
      /^With resources\.gpusPerNode 6, on 3 nodes, stages stay whole and [1-9]\d % less crosses, by what crossing costs\.$/,
    );
    const equal = asked(THREE_STAGES, { gpusPerNode: 6 });
    expect(equal.weightedBytes).toBe(other?.weightedBytes);
  });

  it.each<[string, ReturnType<typeof asked>]>([
    ['pods cut nothing', asked({ ...THREE_STAGES, dataParallelDegree: 8 })],
    ['their number was asked for', asked(THREE_STAGES, { gpusPerNode: 8 })],
    ['there are not as many nodes', asked({ ...THREE_STAGES, dataParallelDegree: 5 }, { count: 2 })],
  ])('are not told where %s', (_sentence, { other }) => {
    expect(other).toBeUndefined();
  });
});
