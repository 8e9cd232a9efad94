import { sharedMemory, threadsOfRank } from './pod-needs.ts';

describe('memory that the processes of a pod share', () => {
  it.each([
    ['a quarter of the pod’s', '16Gi', '4096Mi'],
    ['at most 64 GiB', '2Ti', '65536Mi'],
    ['64 GiB where the pod has no limit: the kubelet knows what the node has', undefined, '65536Mi'],
    ['whole MiB of decimal units', '1G', '238Mi'],
    ['never nothing, which would be without a bound', '1000', '1Mi'],
  ])('is %s', (_sentence, memory, sizeLimit) => {
    const { volume, mount } = sharedMemory(memory);
    expect(volume).toEqual({ name: mount['name'], emptyDir: { medium: 'Memory', sizeLimit } });
    expect(mount['mountPath']).toBe('/dev/shm');
  });

  it.each([
    ['a quarter of the rest, and the saves', '24Gi', 8 * 2 ** 30, '12288Mi'],
    ['at most 64 GiB of the rest, and the saves', '2Ti', 2 ** 40, '1114112Mi'],
    ['rounded up', '1Gi', 1, '256Mi'],
  ])('has room for saves beside it: %s', (_sentence, memory, saves, sizeLimit) => {
    expect(sharedMemory(memory, saves).volume['emptyDir']).toEqual({ medium: 'Memory', sizeLimit });
  });
});

describe('threads of a rank', () => {
  it.each([
    ['one where nothing is known', undefined, 1],
    ['one for each processor', '12', 12],
    ['at most 16', '96', 16],
    ['at least one', '500m', 1],
    ['whole ones', '3500m', 3],
  ])('are %s', (_sentence, cpu, threads) => {
    expect(threadsOfRank(cpu)).toBe(threads);
  });
});
