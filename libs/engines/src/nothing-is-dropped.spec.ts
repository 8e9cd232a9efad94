import { ENGINE_NAMES, type EngineName, TrainingJobSpec } from '@coxswain/api-types';
import fc from 'fast-check';
import { brokenLayoutRules, renderEngine } from './index.ts';
import { type FieldOfJob, fieldsOfAJob, withField } from './testing/fields-of-a-job.ts';
import { type JobOfEngine, JOBS_OF_ENGINES } from './testing/jobs-of-engines.ts';

/** It reads nothing of the job but its directories. */
const TOLD_NOTHING: readonly EngineName[] = ['command'];

/** Fields of which everybody else reads what they say, and no engine. */
const OF_PODS = new Set([
  'data.claimName',
  'initialWeights.claimName',
  'checkpoint.claimName',
  'checkpoint.path',
  'checkpoint.retention.keepNewestVerified',
  'checkpoint.retention.keepEverySteps',
  'checkpoint.retention.keepBestByLoss',
  'checkpoint.retention.whenJobIsDeleted',
  // Answered by the operator, with another everySteps.
  'checkpoint.interval',
  // Launchers say it to ranks, and engines that do not read it refuse it.
  'checkpoint.memory.everySteps',
  'checkpoint.memory.sizePerGpu',
]);

type Words = Readonly<Record<string, readonly unknown[]>>;

const OF_PYTORCH: Words = {
  'layout.kernel.scaling': ['current'],
  'layout.pipeline.schedule': ['1f1b'],
  'layout.states.zeroStage': [0],
  'layout.states.implementation': ['ddp', 'fsdp2'],
  'layout.sequence.contextAlgorithm': ['allgather'],
  'layout.expert.dispatcher': ['alltoall'],
  'layout.expert.balance': ['bias'],
  'layout.kernel.precision': ['bf16'],
  'layout.kernel.cudaGraphs': ['none'],
  'layout.kernel.attentionMask': ['causal'],
  'training.schedule.name': ['linear'],
  'training.lora.dropout': [0],
  'data.format': ['jsonl'],
};
const OF_MEGATRON: Words = {
  'layout.rankOrder.0': ['tensor', 'context', 'expert', 'data', 'pipeline', 'weightShard'],
  'layout.pipeline.schedule': ['1f1b', 'interleaved-1f1b'],
  'layout.pipeline.vocabulary': ['end-stages'],
  'layout.sequence.contextAlgorithm': ['ring'],
  'layout.sequence.perLayerKind.attention': ['ring'],
  'layout.sequence.perLayerKind.stateSpace': ['ulysses'],
  'layout.sequence.causalBalance': ['head-tail', 'zigzag'],
  'layout.states.zeroStage': [0],
  'layout.states.implementation': ['ddp'],
  'layout.states.optimizerPrecision': ['fp32'],
  'layout.states.gradientPrecision': ['fp32'],
  'layout.expert.dispatcher': ['alltoall'],
  'layout.memory.recompute.mode': ['none'],
  'layout.memory.offload.0.to': ['cpu'],
  'layout.communication.overlapPipelineTransfers': [true],
  'layout.kernel.precision': ['bf16'],
  'layout.kernel.cudaGraphs': ['none'],
  'layout.kernel.attentionMask': ['causal'],
  'layout.checkpointPolicy.format': ['torch_dist'],
  'training.lora.dropout': [0],
  'layout.checkpointPolicy.optimizerReshard': ['none', 'data-parallel'],
};

/** Words that ask for what the engine does where nothing is said, or that its pods are told. */
const HOLDS_ANYHOW: Readonly<Record<EngineName, Words>> = {
  reference: { ...OF_PYTORCH, 'data.format': ['text'] },
  command: {},
  'megatron-lm': OF_MEGATRON,
  'megatron-bridge': { ...OF_MEGATRON, 'layout.kernel.attention': ['auto'] },
  torchtitan: { ...OF_PYTORCH, 'layout.memory.recompute.mode': ['none'] },
  deepspeed: OF_PYTORCH,
  'hugging-face': OF_PYTORCH,
  custom: OF_PYTORCH,
};

/** One way of a division is none, a share of one is all, and a switch that is off is off. */
function meansAbsent(engine: EngineName, path: string, value: unknown): boolean {
  if (value === false) return true;
  // WORLD_SIZE says it.
  if (path === 'layout.dataParallelDegree' && engine.startsWith('megatron')) return true;
  const ofOne = /(Degree|chunksPerRank|optimizerInstances|microBatchSize|offload\.0\.fraction)$/;
  if (path === 'data.split.train' || (value === 1 && ofOne.test(path))) return true;
  return HOLDS_ANYHOW[engine][path]?.includes(value) === true;
}

type Outcome =
  { readonly kind: 'illegal' } | { readonly kind: 'refused' } | { readonly kind: 'rendered'; readonly text: string };

function outcomeOf(job: object): Outcome {
  const { success, data } = TrainingJobSpec.safeParse(job);
  if (!success || data.layout === undefined) return { kind: 'illegal' };
  const spec = { ...data, layout: data.layout };
  const rendered = renderEngine(spec);
  if (rendered.kind === 'refused') return { kind: 'refused' };
  if (brokenLayoutRules(spec).length > 0) return { kind: 'illegal' };
  // What its launcher writes into a manifest is no word to the engine.
  const { savedBy: _manifest, ...run } = rendered;
  return { kind: 'rendered', text: JSON.stringify(run) };
}

function valueIn(job: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, name) => (at as Readonly<Record<string, unknown>> | undefined)?.[name], job);
}

/** Jobs as they are: what a field adds to them is seen beside it. */
const PLAIN = new Map(JOBS_OF_ENGINES.map((one) => [one, outcomeOf(one.job)]));

it('every engine that is told something has a job, which is rendered as it is', () => {
  const shown = new Set(JOBS_OF_ENGINES.map(({ engine }) => engine));
  expect(ENGINE_NAMES.filter((name) => !shown.has(name))).toEqual(TOLD_NOTHING);
  expect(
    [...PLAIN].filter(([, { kind }]) => kind !== 'rendered').map(([{ engine, what }]) => `${engine} ${what}`),
  ).toEqual([]);
});

function aValue({ values, bounds }: FieldOfJob): fc.Arbitrary<unknown> {
  const listed = fc.constantFrom(...values);
  if (bounds === undefined) return listed;
  const { min, max, isInteger } = bounds;
  return fc.oneof(listed, isInteger ? fc.integer({ min, max }) : fc.double({ min, max, noNaN: true }));
}

describe.each(ENGINE_NAMES.filter((name) => !TOLD_NOTHING.includes(name)))('what a job of engine %s says', (engine) => {
  const jobs = JOBS_OF_ENGINES.filter((one) => one.engine === engine);

  it.each(fieldsOfAJob().filter(({ path }) => !OF_PODS.has(path)))(
    'by $path shows up in what is run, or is refused',
    (field) => {
      const { path, values } = field;
      const isKept = (one: JobOfEngine, value: unknown): void => {
        const plain = PLAIN.get(one);
        if (valueIn(one.job, path) === value || meansAbsent(engine, path, value)) return;
        const outcome = outcomeOf(withField(one.job, path, value));
        const isDropped = outcome.kind === 'rendered' && plain?.kind === 'rendered' && outcome.text === plain.text;
        expect({ what: one.what, value, isDropped }).toEqual({ what: one.what, value, isDropped: false });
      };
      const examples = jobs.flatMap((one) => values.map((value): [JobOfEngine, unknown] => [one, value]));
      // Every word of a list, and numbers by chance.
      const numRuns = examples.length + (field.bounds === undefined ? 0 : NUMBERS);
      fc.assert(fc.property(fc.constantFrom(...jobs), aValue(field), isKept), { examples, numRuns });
    },
  );
});

const NUMBERS = 10;
