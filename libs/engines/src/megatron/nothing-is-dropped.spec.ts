import { TrainingJobSpec } from '@coxswain/api-types';
import { brokenLayoutRules, renderEngine } from '../index.ts';
import { fieldsOfAJob, withField } from '../testing/fields-of-a-job.ts';
import { aDraft, CAPABILITIES, specOf } from './testing/index.ts';

/** Of jobs that have what a field needs to mean something: none breaks a rule. */
const JOBS = [
  'data parallelism of 8',
  'tensor parallelism',
  'interleaved pipeline',
  'ring of context',
  'experts by all-to-all',
  'optimizer in host memory',
  'activations in host memory',
  'a pattern of layers',
  'weighted data',
] as const;

/** What says no more than what Megatron-LM does where nothing is said, or what the pod is told. */
const HOLDS_ANYHOW: Readonly<Record<string, readonly unknown[]>> = {
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
  'layout.memory.recompute.mode': ['none'],
  'layout.memory.offload.0.to': ['cpu'],
  'layout.communication.overlapPipelineTransfers': [true],
  'layout.kernel.attention': ['auto'],
  'layout.kernel.precision': ['bf16'],
  'layout.kernel.cudaGraphs': ['none'],
  'layout.kernel.attentionMask': ['causal'],
  'layout.checkpointPolicy.format': ['torch_dist'],
  'layout.checkpointPolicy.optimizerReshard': ['none', 'data-parallel'],
};

/** Told to pods: how many there are, and what is mounted where. */
const OF_PODS = new Set([
  'layout.dataParallelDegree',
  'data.claimName',
  'initialWeights.claimName',
  'checkpoint.claimName',
  'checkpoint.path',
]);

/** One way of a division is none, a share of one is all, and a switch that is off is off. */
function meansAbsent(path: string, value: unknown): boolean {
  if (value === false) return true;
  const ofOne = /(Degree|chunksPerRank|optimizerInstances|microBatchSize|fraction|split\.train)$/;
  return (value === 1 && ofOne.test(path)) || HOLDS_ANYHOW[path]?.includes(value) === true;
}

type Outcome = { readonly kind: 'illegal' | 'refused' } | { readonly kind: 'rendered'; readonly text: string };

function outcomeOf(job: object): Outcome {
  const { success, data } = TrainingJobSpec.safeParse(job);
  if (!success || data.layout === undefined) return { kind: 'illegal' };
  const spec = { ...data, layout: data.layout };
  const rendering = renderEngine(spec);
  if (rendering.kind === 'refused') return { kind: 'refused' };
  if (brokenLayoutRules(spec).length > 0) return { kind: 'illegal' };
  // What its launcher writes into a manifest is no word to the engine.
  const { savedBy: _manifest, ...told } = rendering;
  return { kind: 'rendered', text: JSON.stringify(told) };
}

function valueIn(job: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, name) => (at as Readonly<Record<string, unknown>> | undefined)?.[name], job);
}

const ENGINES = [
  { name: 'megatron-lm', release: 'core_v0.19.0', image: 'x' },
  { name: 'megatron-bridge', release: 'v0.3.1', image: 'x' },
] as const;

describe.each(ENGINES.flatMap((engine) => JOBS.map((capability) => ({ engine, capability, name: engine.name }))))(
  'of a job of $name with $capability',
  ({ engine, capability }) => {
    const draft = aDraft();
    CAPABILITIES[capability]?.(draft);
    const job = { ...specOf(draft), engine };
    const plain = outcomeOf(job);

    it('is rendered as it is', () => {
      expect(plain.kind).toBe('rendered');
    });

    it.each(fieldsOfAJob().filter(({ path }) => !OF_PODS.has(path)))(
      '$path shows up in what is run, or is refused',
      ({ path, values }) => {
        for (const value of values) {
          if (valueIn(job, path) === value || meansAbsent(path, value)) continue;
          const outcome = outcomeOf(withField(job, path, value));
          const isDropped = outcome.kind === 'rendered' && plain.kind === 'rendered' && outcome.text === plain.text;
          expect({ value, isDropped }).toEqual({ value, isDropped: false });
        }
      },
    );
  },
);
