import type { PlanRequestInput } from '../contract.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { resolveRequest } from '../request/resolved-request.ts';
import { gpuCountsOf } from './gpu-counts.ts';

function countsOf(gpus: number, objective: PlanRequestInput['objective'], gpusPerNode = 8): readonly number[] {
  const request = parsePlanRequest({
    model: 'llama-3.1-8b',
    cluster: { gpu: 'h100', gpus, gpusPerNode },
    globalBatchSize: 64,
    sequenceLength: 4096,
    tokens: 1e9,
    deadlineHours: 100,
    objective,
  });
  return gpuCountsOf(resolveRequest(request));
}

describe('gpuCountsOf', () => {
  it.each<[string, number, PlanRequestInput['objective'], readonly number[]]>([
    ['the fastest step takes all GPUs', 48, 'time', [48]],
    ['the smallest peak takes all GPUs', 48, 'memory', [48]],
    ['fewest GPUs: parts of one node, then whole nodes that divide the cluster', 48, 'gpus', [1, 2, 4, 8, 16, 24, 48]],
    ['and so does cost', 48, 'cost', [1, 2, 4, 8, 16, 24, 48]],
    ['within one node every divisor', 6, 'gpus', [1, 2, 3, 6]],
    ['one whole node is not counted twice', 8, 'gpus', [1, 2, 4, 8]],
    ['a cluster that is no whole number of nodes: every divisor', 12, 'cost', [1, 2, 3, 4, 6, 12]],
    ['five nodes: three of them would not be equal parts', 40, 'cost', [1, 2, 4, 8, 40]],
    ['one GPU is one way', 1, 'cost', [1]],
  ])('%s', (_, gpus, objective, counts) => {
    expect(countsOf(gpus, objective)).toEqual(counts);
  });

  it('takes the size of a node from the cluster', () => {
    expect(countsOf(16, 'gpus', 4)).toEqual([1, 2, 4, 8, 16]);
    expect(countsOf(18, 'gpus', 6)).toEqual([1, 2, 3, 6, 18]);
  });
});
