/**
 * What `engine.options` does on the engines themselves: an option that contradicts the job is refused before anything starts, one that Coxswain does not
 * know reaches the engine, and the engine's own log says what was priced.
 */
import { ApiProblem } from '@coxswain/api-client';
import { RenderingRequest, TrainingJobSpec } from '@coxswain/api-types';
import { pricedFacts } from '@coxswain/planner';
import { layoutWithOptions, modelOfJob } from '@coxswain/engines';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { trainRendered } from '../seed-systems/run.ts';
import type { TestProject } from '../support/project.ts';
import { deepSpeed, torchTitan, trainer } from './jobs.ts';

const PAGE = join(import.meta.dirname, '../../docs/reference/engine-options.md');
const [BEGIN, END] = ['<!-- results: begin -->', '<!-- results: end -->'];
const COLUMNS = [
  'Engine',
  'Refused before anything starts',
  'Reached the engine',
  'Priced, and in the log',
  'Measured',
];

interface Option {
  readonly name: string;
  readonly value: string;
}

/** What an engine logs of what is priced. */
type Logged = Readonly<Record<string, number | string>>;

interface OptionCase {
  readonly title: string;
  readonly spec: TrainingJobSpec;
  /** Options that contradict the job, each with the field that decides. */
  readonly contradictions: readonly (Option & { readonly field: string })[];
  /** Options that agree with the job, each with its trace in the log. */
  readonly taken: readonly (Option & { readonly trace: RegExp })[];
  readonly read: (log: string) => Logged;
}

const STEPS = { steps: 4, saveEvery: 4, stepDelayMs: 0 } as const;

/** The last number that follows the words in the log; NaN if there is none. */
function numberAfter(log: string, words: RegExp): number {
  const all = [...log.matchAll(new RegExp(words, 'g'))];
  return Number((all.at(-1)?.[1] ?? '').replaceAll(',', '') || NaN);
}

function textAfter(log: string, words: RegExp): string {
  return words.exec(log)?.[1] ?? '';
}

const inBf16 = (spec: TrainingJobSpec): TrainingJobSpec => ({
  ...spec,
  ...(spec.training === undefined ? {} : { training: { ...spec.training, precision: 'bf16' } }),
});

const DEEPSPEED: OptionCase = {
  title: 'DeepSpeed 0.19.8, ZeRO-2',
  spec: inBf16(deepSpeed({ dataParallelDegree: 2, states: { zeroStage: 2 } }, STEPS).spec),
  contradictions: [
    { name: 'zero_optimization.stage', value: '3', field: 'layout.states.zeroStage' },
    { name: 'train_micro_batch_size_per_gpu', value: '1', field: 'training.microBatchSize' },
    { name: 'tensor_parallel.autotp_size', value: '2', field: 'layout.tensorParallelDegree' },
  ],
  taken: [
    { name: 'log_level', value: 'info', trace: /DeepSpeedEngine configuration/ },
    { name: 'data_types.grad_accum_dtype', value: 'fp32', trace: /grad_accum_dtype \.+ fp32/ },
    { name: 'zero_optimization.reduce_bucket_size', value: '123456', trace: /reduce_bucket_size=123456/ },
  ],
  read: (log) => ({
    data: numberAfter(log, /\bworld_size \.+ (\d+)/),
    zeroStage: numberAfter(log, /zero_optimization_stage \.+ (\d)/),
    microBatch: numberAfter(log, /train_micro_batch_size_per_gpu \.* ?(\d+)/),
    globalBatch: numberAfter(log, /\btrain_batch_size \.+ (\d+)/),
    precision: /bfloat16_config \.+ enabled=True/.test(log) ? 'bf16' : 'another',
    // Of its own names, `None` stands for the format of the weights (get_data_types of runtime/engine.py).
    gradientBytes: { None: 2, bf16: 2, fp32: 4 }[textAfter(log, /grad_accum_dtype \.+ (\w+)/)] ?? NaN,
  }),
};

const TORCHTITAN: OptionCase = {
  title: 'TorchTitan 0.3.0, TP2 x FSDP2',
  spec: torchTitan(STEPS).spec,
  contradictions: [
    { name: 'parallelism.tensor_parallel_degree', value: '4', field: 'layout.tensorParallelDegree' },
    { name: 'training.global_batch_size', value: '64', field: 'training.globalBatchSize' },
    { name: 'training.seq_len', value: '64', field: 'model.sequenceLength' },
  ],
  taken: [
    { name: 'debug.print_config', value: 'true', trace: /Running with configs/ },
    { name: 'training.gc_freq', value: '7', trace: /"gc_freq": 7\b/ },
  ],
  read: (log) => ({
    tensor: numberAfter(log, /Building device mesh .*\btp=(\d+)/),
    pipeline: numberAfter(log, /Building device mesh .*\bpp=(\d+)/),
    data:
      numberAfter(log, /Building device mesh .*dp_replicate=(\d+)/) *
      numberAfter(log, /Building device mesh .*dp_shard=(\d+)/),
    microBatch: numberAfter(log, /local batch size (\d+)/),
    globalBatch: numberAfter(log, /global batch size (\d+)/),
    precision: { float32: 'fp32', bfloat16: 'bf16' }[textAfter(log, /"mixed_precision_param": "(\w+)"/)] ?? 'another',
    gradientBytes: { float32: 4, bfloat16: 2 }[textAfter(log, /"mixed_precision_reduce": "(\w+)"/)] ?? NaN,
  }),
};

const TRAINER: OptionCase = {
  title: 'Trainer of Transformers 5.23.0',
  spec: trainer({ ...STEPS, layout: { dataParallelDegree: 2 } }).spec,
  contradictions: [
    { name: 'per_device_train_batch_size', value: '1', field: 'training.microBatchSize' },
    { name: 'gradient_accumulation_steps', value: '8', field: 'training.globalBatchSize' },
    { name: 'max_steps', value: '9', field: 'training.steps' },
  ],
  taken: [
    { name: 'log_level', value: 'info', trace: /\*\*\*\*\* Running training \*\*\*\*\*/ },
    { name: 'logging_first_step', value: 'true', trace: /'loss': .*'epoch'/ },
  ],
  read: (log) => ({
    microBatch: numberAfter(log, /Instantaneous batch size per device = ([\d,]+)/),
    globalBatch: numberAfter(log, /Total train batch size \(w\. parallel, distributed & accumulation\) = ([\d,]+)/),
    data:
      numberAfter(log, /Total train batch size \(w\. parallel, distributed & accumulation\) = ([\d,]+)/) /
      numberAfter(log, /Instantaneous batch size per device = ([\d,]+)/) /
      numberAfter(log, /Gradient Accumulation steps = (\d+)/),
  }),
};

const REFERENCE: OptionCase = {
  title: 'Reference engine',
  spec: TrainingJobSpec.parse({
    engine: { name: 'reference', image: 'i' },
    model: { layers: 4, hiddenSize: 64, attentionHeads: 4, sequenceLength: 64 },
    training: { steps: 4, globalBatchSize: 8, microBatchSize: 2, learningRate: 0.001, precision: 'fp32' },
    data: { claimName: 'corpus', path: 'logbook.txt' },
    layout: { tensorParallelDegree: 2, dataParallelDegree: 2 },
  }),
  // It takes no options at all.
  contradictions: [{ name: 'tensor', value: '4', field: 'engine.options' }],
  taken: [],
  read: (log) => ({
    tensor: numberAfter(log, /layout: tensor (\d+)/),
    pipeline: numberAfter(log, /layout: .*pipeline (\d+)/),
    data: numberAfter(log, /layout: .*data (\d+)/),
    microBatch: numberAfter(log, /micro-batches of (\d+)/),
    globalBatch: numberAfter(log, /; batch (\d+)/),
    precision: textAfter(log, /micro-batches of \d+; (\w+)/),
  }),
};

/** By the word that chooses them. */
export const OPTION_CASES: readonly OptionCase[] = [DEEPSPEED, TORCHTITAN, TRAINER, REFERENCE];

/** What is not as it should be. Writes the row of the page if all is. */
export async function tryOptions(project: TestProject, one: OptionCase, folder: string): Promise<readonly string[]> {
  const refusals = await Promise.all(one.contradictions.map((option) => notRefused(project, one, option)));
  const { output } = await trainRendered(requestOf(one.spec, one.taken), folder);
  const lost = one.taken.filter(({ trace }) => !trace.test(output));
  const logged = one.read(output);
  const priced = pricedOf(one.spec, one.taken);
  const differing = Object.entries(logged).filter(([name, value]) => priced[name] !== value);
  const complaints = [
    ...refusals.flat(),
    ...lost.map(({ name, trace }) => `${name} has no ${String(trace)} in the log`),
    ...differing.map(([name, value]) => `${name} is priced as ${priced[name]}, and the log says ${value}`),
  ];
  if (complaints.length === 0) writeRow(one, logged);
  else writeFileSync(join(folder, 'log.txt'), output);
  return complaints;
}

/** All contradictions of an engine in one job name their field; and there is no such job afterwards. */
async function notRefused(
  project: TestProject,
  { spec }: OptionCase,
  { field, name, value }: OptionCase['contradictions'][number],
): Promise<readonly string[]> {
  const job = `contradicts-${name.replaceAll(/[^a-z0-9]+/g, '-')}`;
  const engine = { ...spec.engine, options: [{ name, value }] };
  try {
    await project.api.createJob(project.name, { name: job, spec: { ...spec, engine } });
    return [`${name} ${value} was taken`];
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const { items } = await project.api.jobPage(project.name, {});
    return [
      ...(error.message.replaceAll('/', '.').includes(field)
        ? []
        : [`the refusal of ${name} does not name ${field}: ${error.message}`]),
      ...(items.some((made) => made.name === job) ? [`${name} is refused, and the job is there`] : []),
    ];
  }
}

function requestOf({ engine, layout, model, training, data }: TrainingJobSpec, taken: readonly Option[]) {
  const { image: _image, ...asked } = engine;
  const options = taken.map(({ name, value }) => ({ name, value }));
  return RenderingRequest.parse({
    engine: { ...asked, ...(options.length === 0 ? {} : { options }) },
    layout,
    model,
    training,
    ...(data === undefined ? {} : { data }),
  });
}

function pricedOf({ engine, layout, model, training }: TrainingJobSpec, options: readonly Option[]): Logged {
  const shape = model === undefined ? undefined : modelOfJob(model)?.model;
  if (layout === undefined || shape === undefined || training === undefined) throw new Error('the job says too little');
  const { microBatchSize = 1, precision, globalBatchSize } = training;
  const facts = pricedFacts(
    { stack: engine.name, model: shape, precision },
    { layout: layoutWithOptions({ engine: { name: engine.name, options: [...options] }, layout }), microBatchSize },
  );
  return { ...facts, microBatch: microBatchSize, globalBatch: globalBatchSize } as unknown as Logged;
}

function writeRow({ title, contradictions, taken }: OptionCase, logged: Logged): void {
  const page = readFileSync(PAGE, 'utf8');
  const [before = '', rest = ''] = page.split(BEGIN);
  const [table = '', after = ''] = rest.split(END);
  const kept = table.split('\n').filter((line) => line.startsWith('| ') && !/^\| (-|Engine )/.test(line));
  const options = (all: readonly Option[]): string => all.map(({ name, value }) => `\`${name} ${value}\``).join(', ');
  const facts = Object.entries(logged).map(([name, value]) => `${name} ${value}`);
  const measured = new Date().toISOString().slice(0, 10);
  const row = `| ${[title, options(contradictions), options(taken) || 'takes none', facts.join(', '), measured].join(' | ')} |`;
  const rows = [...kept.filter((line) => !line.startsWith(`| ${title} `)), row].sort();
  const head = [`| ${COLUMNS.join(' | ')} |`, `| ${COLUMNS.map(() => '---').join(' | ')} |`];
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${[...head, ...rows].join('\n')}\n\n${END}${after}`);
}
