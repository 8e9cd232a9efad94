import { z } from 'zod';
import { engineSupport, LAYOUT_ENGINES, type LayoutEngine, ParallelLayout } from './index.ts';
import { ENGINE_CAPABILITIES } from './engine-capabilities.ts';
import { aLayout } from './testing/index.ts';

interface Case {
  readonly engine: LayoutEngine;
  readonly layout: Partial<ParallelLayout>;
  readonly want: string;
}

const cases: readonly Case[] = [
  {
    engine: 'megatron-lm',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'gpipe' } },
    want: 'engine megatron-lm does not support pipeline.schedule gpipe; use 1f1b, or engine torchtitan or torchtitan-toml or galvatron',
  },
  {
    engine: 'megatron-lm',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'zbv', chunksPerRank: 2 } },
    want: 'engine megatron-lm does not support pipeline.schedule zbv; use interleaved-1f1b, or engine torchtitan or torchtitan-toml or colossalai',
  },
  {
    engine: 'megatron-lm',
    layout: { pipelineParallelDegree: 4, pipeline: { vocabulary: 'sharded-over-pp' } },
    want: 'engine megatron-lm does not support pipeline.vocabulary sharded-over-pp; use counted-as-layer, or engine vocabulary-parallelism',
  },
  {
    engine: 'megatron-lm',
    layout: { kernel: { attention: 'flex' } },
    want: 'engine megatron-lm does not support kernel.attention flex; use auto, or engine torchtitan or torchtitan-toml',
  },
  {
    engine: 'deepspeed',
    layout: { memory: { offload: [{ what: 'optimizer', gpuStride: 3 }] } },
    want: 'engine deepspeed does not support memory.offload.gpuStride 3; remove memory.offload.gpuStride, or engine deep-optimizer-states',
  },
  {
    engine: 'torchtitan',
    layout: { dataParallelDegree: 8, expert: { expertParallelDegree: 4, expertTensorParallelDegree: 2 } },
    want: 'engine torchtitan does not support expert.expertTensorParallelDegree 2; use 1, or engine megatron-lm or megatron-bridge or deepspeed',
  },
  {
    engine: 'torchtitan',
    layout: { contextParallelDegree: 8, sequence: { contextAlgorithm: 'ulysses' } },
    want: 'engine torchtitan does not support sequence.contextAlgorithm ulysses; use allgather, or engine megatron-lm or megatron-bridge or deepspeed',
  },
  {
    engine: 'torchtitan',
    layout: { dataParallelDegree: 8, states: { zeroStage: 1 } },
    want: 'engine torchtitan does not support states.zeroStage 1; use 3, or engine megatron-lm or megatron-bridge or deepspeed',
  },
  {
    engine: 'torchtitan',
    layout: { perLayer: [{ firstLayer: 0, lastLayer: 3, zeroStage: 3 }] },
    want: 'engine torchtitan does not support perLayer as given; remove perLayer, or engine galvatron',
  },
  {
    engine: 'megatron-lm',
    layout: { states: { reshardAfterForward: false } },
    want: 'engine megatron-lm does not support states.reshardAfterForward false; remove states.reshardAfterForward, or engine torchtitan or torchtitan-toml or hugging-face',
  },
  {
    engine: 'natural-galore',
    layout: { tensorParallelDegree: 2 },
    want: 'engine natural-galore does not support tensorParallelDegree 2; remove tensorParallelDegree, or engine megatron-lm or megatron-bridge or torchtitan',
  },
  {
    engine: 'command',
    layout: { weightShardDegree: 2 },
    want: 'engine command does not support weightShardDegree 2; give it to the program in engine.args, or engine megatron-lm or megatron-bridge',
  },
];

describe('an engine refuses', () => {
  it.each(cases)('$want', ({ engine, layout, want }) => {
    const outcome = engineSupport(engine, aLayout(layout));
    const message =
      outcome.kind === 'supported' ? [] : outcome.refusals.map(({ reason, fallback }) => `${reason}; ${fallback}`);
    expect(message).toEqual([want]);
  });
});

describe('every engine', () => {
  it.each(LAYOUT_ENGINES)('%s takes one rank, and what is as good as nothing', (engine) => {
    const layout = aLayout({
      contextParallelDegree: 1,
      weightShardDegree: 1,
      sequence: { sequenceParallel: false },
      pipeline: { chunksPerRank: 1 },
    });
    expect(engineSupport(engine, layout)).toEqual({ kind: 'supported' });
  });

  it.each(LAYOUT_ENGINES)('%s lists only options that a layout has', (engine) => {
    const known = optionsOf(ParallelLayout, '');
    for (const option of ENGINE_CAPABILITIES[engine].options) expect(known).toContain(option);
  });
});

/** Every dotted option of a schema, with those that hold others. */
function optionsOf(schema: z.ZodType, at: string): readonly string[] {
  const inside =
    schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? (schema.unwrap() as z.ZodType) : schema;
  if (inside instanceof z.ZodArray) return [at, ...optionsOf(inside.element as z.ZodType, at)];
  if (!(inside instanceof z.ZodObject)) return [at];
  const own = Object.entries(inside.shape as Record<string, z.ZodType>).flatMap(([key, value]) =>
    optionsOf(value, at === '' ? key : `${at}.${key}`),
  );
  return at === '' ? own : [at, ...own];
}
