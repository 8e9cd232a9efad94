import { hostMemoryPerGpu, memorySaveBounds, memorySaveOf, nameOfMemorySave } from './memory-saves.ts';

const saves = (sizePerGpu: string) => ({ memory: { everySteps: 10, sizePerGpu } });

describe('the memory that a pod requests for each GPU', () => {
  it.each([
    ['is what the job states', '64Gi', undefined, '64Gi'],
    ['is what the job states if it keeps no saves in memory', '64Gi', {}, '64Gi'],
    ['has room for two saves of each rank', '64Gi', saves('8Gi'), '81920Mi'],
    ['is rounded up, in whatever units it is written', '1G', saves('1.5'), '954Mi'],
    ['is none if the job states none', undefined, undefined, undefined],
  ])('%s', (_sentence, memoryPerGpu, checkpoint, want) => {
    expect(hostMemoryPerGpu({ resources: { memoryPerGpu }, checkpoint })).toBe(want);
  });

  it('bounds each save by its size', () => {
    expect(memorySaveBounds({ checkpoint: saves('1.5k') })).toEqual({ everySteps: 10, bytes: 1500 });
    expect(memorySaveBounds({})).toBeUndefined();
  });
});

describe('the name of a save in memory', () => {
  it('says its incarnation and step', () => {
    expect(nameOfMemorySave({ incarnation: 2, step: 50 })).toBe('2-50');
    expect(memorySaveOf('2-50')).toEqual({ incarnation: 2, step: 50 });
  });

  it.each(['partial', '0-50', '2-', '-50', '2-50.tmp', '2-50-1', '../2-50', '99999999999-1', '1-99999999999999999'])(
    'is not %j',
    (name) => {
      expect(memorySaveOf(name)).toBeUndefined();
    },
  );
});
