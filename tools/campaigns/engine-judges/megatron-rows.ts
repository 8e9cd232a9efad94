/** Published systems that Megatron-LM itself can run, as jobs from the examples of layouts. */
import { type JudgedJob, judgedSpec, type MegatronRelease } from '@coxswain/engines/testing';
import { TrainingJobSpec, type TrainingJobSpecInput } from '@coxswain/api-types';
import { type LayoutDocument, type ParallelLayout, readLayout } from '@coxswain/layout';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { LAYOUT_EXAMPLES } from '../../generate/layouts.ts';

interface Row {
  readonly number: string;
  /** What is otherwise than in the example, which may be for another engine or ask for what no engine has; with the reason. */
  readonly instead?: (layout: ParallelLayout) => ParallelLayout;
  readonly engine?: Partial<TrainingJobSpecInput['engine']>;
  readonly rest?: Partial<TrainingJobSpecInput>;
  readonly model?: TrainingJobSpecInput['model'];
  readonly training?: Partial<NonNullable<TrainingJobSpecInput['training']>>;
}

const ZERO_1 = { zeroStage: 1, implementation: 'distributed-optimizer' } as const;

const ROWS: readonly Row[] = [
  // Overlap of tensor parallelism needs the sequence to be split, which the example says.
  { number: '01' },
  { number: '02' },
  { number: '06' },
  { number: '14' },
  // The example is for DeepSpeed, whose ZeRO stage 3 Megatron-LM has not.
  { number: '15', instead: (layout) => ({ ...layout, states: ZERO_1 }) },
  // Of LASP-2H the attention layers: those of linear attention are a fork's.
  {
    number: '16',
    instead: ({ sequence: _lasp, ...layout }) => ({
      ...layout,
      sequence: { perLayerKind: { attention: 'allgather' } },
    }),
    model: { layers: 16, hiddenSize: 2048, attentionHeads: 16, gatedMlp: true, sequenceLength: 2_097_152 },
  },
  { number: '20' },
  // MEMO's buffers that layers take in turns are no engine's.
  { number: '22', instead: ({ memory, ...layout }) => ({ ...layout, memory: withoutBuffers(memory) }) },
  { number: '23' },
  { number: '24' },
  { number: '37' },
  {
    number: '42',
    engine: { command: ['python3', 'examples/bert/pretrain_bert.py'] },
    rest: { scratch: { sizeLimit: '10Gi' } },
  },
];

function withoutBuffers(memory: ParallelLayout['memory']): ParallelLayout['memory'] {
  const { roundingBuffers: _buffers, ...rest } = memory ?? {};
  return rest;
}

/** Each row as a job of the release. Throws where an example is none. */
export function megatronRows(release: MegatronRelease): readonly JudgedJob[] {
  const files = readdirSync(LAYOUT_EXAMPLES);
  return ROWS.flatMap((row) => {
    const file = files.find((name) => name.startsWith(`${row.number}-`)) ?? '';
    const read = readLayout(parse(readFileSync(join(LAYOUT_EXAMPLES, file), 'utf8')));
    if (read.kind !== 'layout') throw new Error(`${file} is no layout of one program`);
    const job = judgedSpec(`row ${file}`, { spec: jobOf(row, { document: read.document, release }), release });
    // What came to later releases is refused by those before, by name.
    return job.refusals.every(({ rule }) => rule === 'release-has-option') && job.refusals.length > 0 ? [] : [job];
  });
}

function jobOf(
  row: Row,
  { document, release }: { readonly document: LayoutDocument; readonly release: MegatronRelease },
): Parameters<typeof judgedSpec>[1]['spec'] {
  const { layout, model, batch } = document;
  const given = row.instead?.(layout) ?? layout;
  const { globalBatchSize = 1, microBatchSize = 1, sequenceLength = 2048 } = batch ?? {};
  const { name: _name, ...sizes } = typeof model === 'object' ? model : {};
  const spec = TrainingJobSpec.parse({
    engine: { name: 'megatron-lm', image: 'x', release: release.tag, ...row.engine },
    model: row.model ?? { ...(typeof model === 'string' ? { preset: model } : sizes), sequenceLength },
    training: { steps: 100, globalBatchSize, microBatchSize, ...row.training },
    data: { format: 'mock' },
    checkpoint: { claimName: 'checkpoints' },
    layout: given,
    ...row.rest,
  });
  return { ...spec, layout: given };
}
