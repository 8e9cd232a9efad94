import type { ParallelLayout } from '@coxswain/layout';
import { layoutForEngine, layoutForModels } from './layout-for-engine.ts';

const written = (states: ParallelLayout['states'], memory?: ParallelLayout['memory']): ParallelLayout => ({
  tensorParallelDegree: 1,
  pipelineParallelDegree: 1,
  dataParallelDegree: 8,
  states,
  ...(memory === undefined ? {} : { memory }),
});

const EVERY_LAYER = { recompute: { mode: 'full', method: 'uniform', layers: 1 } } as const;
const HALF = { recompute: { mode: 'full', method: 'block', layers: 4 } } as const;
const OVERLAPS = { communication: { overlapGradReduce: true, overlapParamGather: true } };
const sharded = { zeroStage: 3, implementation: 'megatron-fsdp' } as const;

describe('a planned layout in the words of its engine', () => {
  it.each<[string, string, ParallelLayout, ParallelLayout]>([
    ['Megatron-LM has those that were planned', 'megatron-lm', written(sharded), written(sharded)],
    ['so has an engine that nobody knows', 'mine', written(sharded), written(sharded)],
    ['TorchTitan shards by FSDP2', 'torchtitan', written(sharded), written({ zeroStage: 3, implementation: 'fsdp2' })],
    [
      'and recomputes without a method',
      'torchtitan v0.3.0',
      written(sharded, EVERY_LAYER),
      written({ zeroStage: 3, implementation: 'fsdp2' }, { recompute: { mode: 'full' } }),
    ],
    [
      'some layers of it are what it chooses',
      'torchtitan v0.3.0',
      written(sharded, HALF),
      written({ zeroStage: 3, implementation: 'fsdp2' }, { recompute: { mode: 'selective' } }),
    ],
    [
      'Trainer shards gradients by DeepSpeed',
      'hugging-face',
      written({ zeroStage: 2, implementation: 'megatron-fsdp' }),
      written({ zeroStage: 2, implementation: 'deepspeed' }),
    ],
    [
      'FSDP by itself',
      'composer-fsdp',
      written({ zeroStage: 2, implementation: 'megatron-fsdp' }),
      written({ zeroStage: 2, implementation: 'fsdp2' }),
    ],
    [
      'Megatron-DeepSpeed is told the stage alone, and recomputes some layers',
      'megatron-deepspeed',
      written({ zeroStage: 1, implementation: 'distributed-optimizer', precisionAwareOptimizer: true }, HALF),
      written({ zeroStage: 1 }, HALF),
    ],
    [
      'and of all that is in host memory no share',
      'deepspeed',
      written(
        { zeroStage: 1, implementation: 'distributed-optimizer' },
        { offload: [{ what: 'optimizer', fraction: 1 }] },
      ),
      written({ zeroStage: 1 }, { offload: [{ what: 'optimizer' }] }),
    ],
    [
      'of a part its share',
      'deepspeed',
      written(sharded, { offload: [{ what: 'optimizer', fraction: 0.5 }] }),
      written({ zeroStage: 3 }, { offload: [{ what: 'optimizer', fraction: 0.5 }] }),
    ],
    [
      'Megatron-LM is told what overlaps',
      'megatron-lm',
      { ...written(sharded), ...OVERLAPS },
      { ...written(sharded), ...OVERLAPS },
    ],
    [
      'Trainer overlaps by itself, and of whole experts there is nothing to tell',
      'hugging-face',
      { ...written(sharded), ...OVERLAPS, expert: { expertParallelDegree: 1, dispatcher: 'alltoall' } },
      written({ zeroStage: 3, implementation: 'fsdp2' }),
    ],
  ])('%s', (_, stack, planned, want) => {
    expect(layoutForEngine(stack, planned)).toEqual(want);
  });
});

describe('a layout that somebody wrote for an engine', () => {
  const selective = written(sharded, { recompute: { mode: 'selective' } });
  const ofLayers = (layers: number): ParallelLayout =>
    written(sharded, { recompute: { mode: 'full', method: 'block', layers } });

  it.each<[string, string, ParallelLayout, ParallelLayout]>([
    [
      'TorchTitan recomputes about two layers in five',
      'torchtitan v0.2.2',
      selective,
      { ...ofLayers(13), ...OVERLAPS },
    ],
    [
      'of each chunk',
      'torchtitan',
      { ...selective, pipelineParallelDegree: 2, pipeline: { schedule: 'zbv', chunksPerRank: 2 } },
      { ...ofLayers(3), ...OVERLAPS, pipelineParallelDegree: 2, pipeline: { schedule: 'zbv', chunksPerRank: 2 } },
    ],
    ['Megatron-LM what its modules say', 'megatron-lm', selective, selective],
    [
      'Trainer overlaps, of which it has no word',
      'hugging-face',
      written(sharded),
      { ...written(sharded), ...OVERLAPS },
    ],
    ['Megatron-LM only where it is told', 'megatron-lm', written(sharded), written(sharded)],
    [
      'every layer where that is asked',
      'torchtitan',
      written(sharded, EVERY_LAYER),
      { ...written(sharded, EVERY_LAYER), ...OVERLAPS },
    ],
  ])('%s', (_, stack, layout, want) => {
    expect(layoutForModels(stack, layout, 32)).toEqual(want);
  });

  it('is planned and predicted with as many', () => {
    const planned = layoutForEngine('torchtitan', ofLayers(13));
    expect(layoutForModels('torchtitan', planned, 32).memory).toEqual(ofLayers(13).memory);
  });
});
