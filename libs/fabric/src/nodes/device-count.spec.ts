import { deviceCount, isDevice } from './device-count.ts';

describe('a resource of a node', () => {
  it.each([
    ['nvidia.com/gpu', true],
    ['vpc.amazonaws.com/efa', true],
    ['rdma/ib', true],
    ['cpu', false],
    ['hugepages-2Mi', false],
    ['kubernetes.io/batch-cpu', false],
    ['example.kubernetes.io/dongle', false],
  ])('%s is a device: %s', (resource, is) => {
    expect(isDevice(resource)).toBe(is);
  });

  it.each<[unknown, number]>([
    ['8', 8],
    ['2k', 2_000],
    ['8000m', 8],
    ['8.0', 8],
    ['8e3', 8_000],
    ['1Ki', 1_024],
    ['0', 0],
    ['8.5', 0],
    ['NaN', 0],
    ['8 GPUs', 0],
    ['', 0],
    [8, 8],
    [0.5, 0],
    [-1, 0],
    ['-1', 0],
    ['500m', 0],
    ['1234567890', 1_234_567_890],
    ['99999999999999999999', 0],
    [undefined, 0],
    [null, 0],
  ])('%j is %i devices', (quantity, count) => {
    expect(deviceCount(quantity)).toBe(count);
  });
});
