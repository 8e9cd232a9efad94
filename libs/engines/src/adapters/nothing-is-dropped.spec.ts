import { TrainingJobSpec, type TrainingJobSpecInput } from '@coxswain/api-types';
import { brokenLayoutRules, renderEngine } from '../index.ts';
import { fieldsOfAJob, withField } from '../testing/fields-of-a-job.ts';

type Job = Omit<TrainingJobSpecInput, 'gpus'>;

const llama = {
  layers: 8,
  hiddenSize: 256,
  attentionHeads: 8,
  gatedMlp: true,
  vocabularySize: 512,
  sequenceLength: 1024,
};
const experts = { count: 8, topK: 2, ffnHiddenSize: 128 };
const text: Job['data'] = { claimName: 'corpus', path: 'a', tokenizer: { path: 't' } };
const degrees = { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 4 };

const copies = { ...degrees, tensorParallelDegree: 1 };

const base = {
  training: { steps: 100, globalBatchSize: 16, optimizer: {} },
  checkpoint: { claimName: 'saved' },
  data: text,
  model: llama,
} satisfies Partial<Job>;

const torchtitan = { name: 'torchtitan' as const, image: 'x' };
const deepspeed = { name: 'deepspeed' as const, image: 'x', command: ['python3', 'train.py'] };
/** What each job is, and the job. */
const JOBS: readonly (readonly [string, Job])[] = [
  ['torchtitan', { ...base, engine: torchtitan, layout: degrees }],
  ['torchtitan with a pipeline', { ...base, engine: torchtitan, layout: { ...degrees, pipelineParallelDegree: 2 } }],
  [
    'torchtitan with context and shards',
    { ...base, engine: torchtitan, layout: { ...degrees, contextParallelDegree: 2, states: { zeroStage: 3 } } },
  ],
  [
    'torchtitan with experts',
    {
      ...base,
      engine: torchtitan,
      model: { ...llama, experts },
      layout: {
        ...degrees,
        states: { zeroStage: 3 },
        expert: { expertParallelDegree: 2, expertTensorParallelDegree: 1 },
      },
    },
  ],
  [
    'torchtitan by TOML',
    {
      ...base,
      engine: { ...torchtitan, release: 'v0.2.2' },
      model: { preset: 'llama-3.1-8b', sequenceLength: 1024 },
      layout: { ...degrees, states: { zeroStage: 3 } },
    },
  ],
  ['deepspeed', { ...base, engine: deepspeed, layout: { ...degrees, states: { zeroStage: 2 } } }],
  [
    'deepspeed with everything of stage 3',
    { ...base, engine: deepspeed, layout: { ...degrees, states: { zeroStage: 3 } } },
  ],
  ['hugging-face', { ...base, engine: { ...deepspeed, name: 'hugging-face' }, layout: copies }],
  [
    'hugging-face with FSDP',
    { ...base, engine: { ...deepspeed, name: 'hugging-face' }, layout: { ...copies, states: { zeroStage: 3 } } },
  ],
  [
    'hugging-face with DeepSpeed',
    {
      ...base,
      engine: { ...deepspeed, name: 'hugging-face' },
      layout: { ...copies, states: { zeroStage: 2, implementation: 'deepspeed' } },
    },
  ],
  ['custom', { ...base, engine: { ...deepspeed, name: 'custom' }, layout: degrees }],
];

/** Fields of which everybody else reads what they say, and no engine. */
const NOT_OF_ENGINES = new Set([
  'data.claimName',
  'initialWeights.claimName',
  'checkpoint.claimName',
  'checkpoint.path',
]);

type Outcome =
  { readonly kind: 'illegal' } | { readonly kind: 'refused' } | { readonly kind: 'rendered'; readonly text: string };

function outcomeOf(job: object): Outcome {
  const { success, data } = TrainingJobSpec.safeParse(job);
  if (!success || data.layout === undefined) return { kind: 'illegal' };
  const spec = { ...data, layout: data.layout };
  const rendered = renderEngine(spec);
  if (rendered.kind === 'refused') return { kind: 'refused' };
  if (brokenLayoutRules(spec).length > 0) return { kind: 'illegal' };
  // What is kept of the layout beside what is run tells the engine nothing.
  const { savedBy: _kept, ...run } = rendered;
  return { kind: 'rendered', text: JSON.stringify(run) };
}

function valueIn(job: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, name) => (at as Readonly<Record<string, unknown>> | undefined)?.[name], job);
}

describe.each(JOBS)('of a job of %s', (_name, job) => {
  const plain = outcomeOf(job);

  it('is rendered as it is', () => {
    expect(plain.kind).toBe('rendered');
  });

  it.each(fieldsOfAJob().filter(({ path }) => !NOT_OF_ENGINES.has(path)))(
    '$path shows up in what is run, or is refused',
    ({ path, values }) => {
      const parsed = TrainingJobSpec.parse(job);
      for (const value of values) {
        if (valueIn(parsed, path) === value || meansAbsent(path, value)) continue;
        const outcome = outcomeOf(withField(job, path, value));
        const isDropped = outcome.kind === 'rendered' && plain.kind === 'rendered' && outcome.text === plain.text;
        expect({ value, isDropped }).toEqual({ value, isDropped: false });
      }
    },
  );
});

/** One way of a division is none, and a switch that is off is off: what holds where nothing is said. */
function meansAbsent(path: string, value: unknown): boolean {
  if (value === false) return true;
  if (value === 1) return /(Degree|chunksPerRank|optimizerInstances|microBatchSize|split.train)$/.test(path);
  return HOLDS_ANYHOW.some(([field, said]) => field === path && said === value) || path === 'data.split.train';
}

/** Words that ask for what these engines do where nothing is said. */
const HOLDS_ANYHOW: readonly (readonly [string, unknown])[] = [
  ['layout.pipeline.schedule', '1f1b'],
  ['layout.states.zeroStage', 0],
  ['layout.states.implementation', 'ddp'],
  ['layout.states.implementation', 'fsdp2'],
  ['layout.sequence.contextAlgorithm', 'allgather'],
  ['layout.expert.dispatcher', 'alltoall'],
  ['layout.expert.balance', 'bias'],
  ['layout.kernel.precision', 'bf16'],
  ['layout.kernel.cudaGraphs', 'none'],
  ['layout.kernel.attentionMask', 'causal'],
  ['training.schedule.name', 'linear'],
  ['data.format', 'jsonl'],
];
