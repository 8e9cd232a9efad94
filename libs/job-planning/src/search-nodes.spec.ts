import { aPlannedJobSpec } from '@coxswain/api-types/testing';
import { aFabricNode } from '@coxswain/fabric/testing';
import type { ParallelLayout } from '@coxswain/layout';
import { searchNodes } from './search-nodes.ts';

/** Why a gang of that layout sits where it does, on four nodes of 8 GPUs. */
function whereOf(layout: ParallelLayout, gpusPerNode?: number): string {
  const nodes = Array.from({ length: 4 }, (_, at) => aFabricNode({ name: `n${at}`, switches: ['leaf', 'spine'] }));
  const capacity = { fabric: { nodes }, usedGpus: new Map<string, number>(), reserve: { nodesPerIsland: 0 } };
  const request = { layout, ...(gpusPerNode === undefined ? {} : { gpusPerNode }) };
  const found = searchNodes({ spec: { ...aPlannedJobSpec(), layout }, request, avoided: [] }, capacity);
  return found.kind === 'placed' ? found.where : found.message;
}

describe('where the ranks of a job sit', () => {
  const cut = { tensorParallelDegree: 1, pipelineParallelDegree: 3, dataParallelDegree: 6 };
  const advice =
    /\. With resources\.gpusPerNode 6, on 3 nodes, stages stay whole and \d+ % less crosses, by what crossing costs\.$/;

  it('says which smaller pods would cost less', () => {
    expect(whereOf(cut)).toMatch(advice);
  });

  it.each([
    ['the job says how large they are', whereOf(cut, 6)],
    ['pods cut nothing', whereOf({ ...cut, pipelineParallelDegree: 2, dataParallelDegree: 8 })],
  ])('says nothing of smaller pods where %s', (_sentence, where) => {
    expect(where).toMatch(/^In one rack of one island: /);
    expect(where).not.toContain('gpusPerNode');
  });
});
