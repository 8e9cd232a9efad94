import { aPlan, aPrediction } from '@coxswain/planner/testing';
import { stageNote, explainOrder } from './reading-aids.ts';

const takes = (stepTimeS: number, gpus = 512) => aPlan({ gpus, prediction: aPrediction({ stepTimeS }) });
const WHY = /^The first layout is the simplest within the prediction error of the fastest\.$/;

describe('what a reader would ask', () => {
  it('whose time the parts of a step are, where stages differ', () => {
    expect(stageNote({ pipelineParallelDegree: 8 })).toBe(' on the slowest of 8 pipeline stages');
    expect(stageNote({ pipelineParallelDegree: 1 })).toBe('');
  });

  it('why a layout that is faster comes second', () => {
    expect(explainOrder([takes(10), takes(9.8)], { objective: 'time' })).toMatch(WHY);
  });

  it('why a layout that uses host memory, or that another engine runs, comes later', () => {
    const offload = [{ what: 'optimizer' as const, fraction: 1 }];
    const onHost = { ...takes(9), layout: { ...takes(9).layout, memory: { offload, hostMemoryGibPerGpu: 1 } } };
    const foreign = { ...takes(8), layout: { ...takes(8).layout, pipeline: { schedule: 'zbv' as const } } };
    expect(explainOrder([takes(10), onHost, foreign], { objective: 'time' })).toBe(
      'Layouts that use host memory come after those that do not. The last layout needs an engine that runs its schedule.',
    );
  });

  it.each<[string, ReturnType<typeof takes>[], 'time' | 'memory' | 'cost']>([
    ['none is faster', [takes(10), takes(10.2)], 'time'],
    ['the faster one has more GPUs', [takes(10), takes(5, 1024)], 'cost'],
    ['the smallest was asked for', [takes(10), takes(9.8)], 'memory'],
    ['nothing fits', [], 'time'],
  ])('not where %s', (_sentence, plans, objective) => {
    expect(explainOrder(plans, { objective })).toBeUndefined();
  });
});
