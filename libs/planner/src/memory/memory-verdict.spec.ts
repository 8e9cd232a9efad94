import { aCluster } from '../testing/runs.ts';
import { deviceUsedBytesOf, hostCapacityBytesOf, verdictOf } from './memory-verdict.ts';

const GIB = 2 ** 30;
const GPU = aCluster(8).gpu;

/** A GPU of 100 GiB. */
const on = (stack: string) => ({ stack, cluster: aCluster(8, { gpu: { ...GPU, memoryGib: 100 } }) });

describe('deviceUsedBytesOf', () => {
  it.each([
    ['megatron-core 0.15', 40 * 1.05 + 2],
    ['deepspeed 0.16', 40 * 1.05 + 2],
    ['megatron-deepspeed 2022', 40 * 1.085 + 8.5],
    ['megatron-deepspeed 2021', 40 + 4],
    ['sailor', 40 * 1.085 + 3.4],
    ['internevo', 40 + 7],
  ])('%s shows for 40 GiB that it hands out %d (memory-model.md, from the allocator to the device)', (stack, gib) => {
    expect(deviceUsedBytesOf(40 * GIB, stack) / GIB).toBeCloseTo(gib, 9);
  });
});

describe('verdictOf', () => {
  // What nvidia-smi shows is 1.05 x + 2 GiB of a current Megatron-Core: (90 - 2) / 1.05 = 83.81.
  it.each([
    [83.8, 'megatron-core', 'fits', 'leaves 10 % free'],
    [83.9, 'megatron-core', 'tight', 'leaves a little less'],
    [103.9, 'megatron-core', 'tight', 'exceeds the GPU by less than 5 % with the smallest context'],
    [104.1, 'megatron-core', 'doesNotFit', 'exceeds it by more'],
    [(75 - 8.5) / 1.085 - 0.1, 'megatron-deepspeed', 'fits', 'leaves the 25 % that its allocator needs'],
    [(75 - 8.5) / 1.085 + 0.1, 'megatron-deepspeed', 'tight', 'leaves less than that'],
    [104.1, 'megatron-deepspeed', 'doesNotFit', 'exceeds it by more than 5 % without its own slack'],
  ])('%d GiB on 100 of %s: %s, because it %s', (gib, stack, want) => {
    expect(verdictOf(gib * GIB, on(stack))).toBe(want);
  });

  it.each([
    [0, 'fits', 93.3],
    [0, 'tight', 93.4],
    [0.5, 'fits', 45.7],
    [0.5, 'tight', 45.8],
  ])('with a margin of %d says %s at %d GiB', (margin, want, gib) => {
    expect(verdictOf(gib * GIB, on('megatron-core'), margin)).toBe(want);
  });
});

describe('host memory for offloaded states', () => {
  it.each([
    ['four fifths of an equal share of the node', aCluster(16, { hostMemoryGibPerNode: 1000 }), 100],
    ['of all of it where a job has part of a node', aCluster(4, { gpusPerNode: 8, hostMemoryGibPerNode: 1000 }), 200],
    ['without end where nobody says what a node has', aCluster(16), Infinity],
  ])('is %s', (_sentence, cluster, gib) => {
    expect(hostCapacityBytesOf(cluster) / GIB).toBeCloseTo(gib, 9);
  });
});
