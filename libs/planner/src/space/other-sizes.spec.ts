import { resolveRequest } from '../request/resolved-request.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { fewerGpusOf, otherBatchesOf } from './other-sizes.ts';

const runOf = (gpus: number, globalBatchSize: number, model = 'llama-3.1-8b') =>
  resolveRequest(parsePlanRequest({ model, cluster: { gpu: 'h100', gpus }, globalBatchSize, sequenceLength: 8192 }))
    .run;

describe('fewer GPUs', () => {
  it.each([
    ['a prime of them', 127, 128, [120, 112, 104, 96, 88, 80, 72, 64]],
    ['a number that leaves 125 replicas', 1000, 1024, [992, 960, 928, 896, 864, 832, 800, 768]],
    ['half a node', 4, 8, [3, 2]],
    ['one', 1, 8, []],
  ])('than %s are whole nodes that divide', (_, gpus, batch, want) => {
    expect(fewerGpusOf(runOf(gpus, batch))).toEqual(want);
  });

  it('never are more than eight, and take a moment for 65,521 of them', () => {
    expect(fewerGpusOf(runOf(65_521, 4096)).length).toBe(8);
  });
});

describe('other batches', () => {
  it('are near the asked one and divided by replicas that the asked one is not', () => {
    const run = runOf(1000, 1024, 'llama-3.1-70b');
    const batches = otherBatchesOf(run);
    expect(batches[0]).toBe(1025);
    expect(batches).toContain(1000);
    expect(batches.every((batch) => Math.abs(batch - 1024) <= 256 && batch !== 1024)).toBe(true);
  });

  it('are none where all replicas divide the asked one', () => {
    expect(otherBatchesOf(runOf(64, 64))).toEqual([]);
  });

  it('are whole where the batch is smaller than the replicas', () => {
    expect(otherBatchesOf(runOf(48, 7))).toEqual([6, 8]);
  });
});
