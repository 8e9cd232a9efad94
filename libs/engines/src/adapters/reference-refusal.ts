/** Refuses every field that engine `reference` has no flag for, so that no field is dropped. */
import type { EffectiveSpec, ModelSpec } from '@coxswain/api-types';
import type { ModelShape } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';
import { modelOfJob } from '../model-of-job.ts';
import { rejectLongSchedule, RAMP_UP_FIELD, rejectRisingRate, WITH_ADAPTERS } from '../training-checks.ts';
import { rejectUnsupported } from './check.ts';

/** The first refusal; undefined where the engine can run the spec as far as its layout allows. */
export function referenceRefusal(spec: EffectiveSpec): EngineRefusal | undefined {
  return (
    missingPart(spec) ??
    (spec.model === undefined ? undefined : modelRefusal(spec.model)) ??
    FIELDS(spec) ??
    rateRefusal(spec)
  );
}

const BEGINS_FROM_SCRATCH =
  'leave it out: the engine begins from random numbers, or from a checkpoint of its own (resumeFrom)';
const READS_ONE_TEXT = 'leave it out: the engine reads the bytes of the one file at data.path';

/** Fields that the engine has no flag for (engines/reference, settings.py). */
const FIELDS = rejectUnsupported('engine "reference"', [
  { field: 'training.lora', valueOf: ({ training }) => training?.lora, fallback: WITH_ADAPTERS },
  RAMP_UP_FIELD,
  { field: 'data.format', valueOf: ({ data }) => data?.format, taken: ['text'], fallback: READS_ONE_TEXT },
  { field: 'data.paths', valueOf: ({ data }) => data?.paths, fallback: READS_ONE_TEXT },
  { field: 'data.split', valueOf: ({ data }) => data?.split, fallback: READS_ONE_TEXT },
  { field: 'data.tokenizer', valueOf: ({ data }) => data?.tokenizer, fallback: READS_ONE_TEXT },
  {
    field: 'training.optimizer.name',
    valueOf: ({ training }) => training?.optimizer?.name,
    taken: ['adamw'],
    fallback: 'set it to adamw, which is all that the engine has',
  },
  {
    field: 'training.optimizer.momentum',
    valueOf: ({ training }) => training?.optimizer?.momentum,
    fallback: 'leave it out: adamw has beta1 in its place',
  },
  {
    field: 'training.schedule.decayStyle',
    valueOf: ({ training }) => training?.schedule?.decayStyle,
    taken: ['linear'],
    fallback: 'leave it out: the rate falls by a line',
  },
  { field: 'initialWeights', valueOf: ({ initialWeights }) => initialWeights, fallback: BEGINS_FROM_SCRATCH },
]);

/**
 * The engine ends at its start where these do not go together (settings.py, _check_training), after a gang was placed for it. Who gives arguments may have set
 * them otherwise there.
 */
function rateRefusal(spec: EffectiveSpec): EngineRefusal | undefined {
  const { training, engine } = spec;
  if (training === undefined || (engine.args ?? []).length > 0) return undefined;
  return rejectRisingRate(training) ?? rejectLongSchedule(spec);
}

function missingPart(spec: EffectiveSpec): EngineRefusal | undefined {
  const missing = (['model', 'training'] as const).filter((part) => spec[part] === undefined);
  if (missing[0] !== undefined) {
    const parts = missing.join(' and ');
    return {
      rule: 'engine-needs-part',
      field: missing[0],
      why: `engine "reference" needs ${parts}`,
      fallback: `set ${parts}`,
    };
  }
  if (spec.data === undefined) {
    return {
      rule: 'engine-needs-part',
      field: 'data',
      why: 'engine "reference" needs data',
      fallback: 'set data.claimName and data.path',
    };
  }
  if (spec.checkpoint !== undefined) return undefined;
  const why = 'engine "reference" saves its final state and needs checkpoint';
  return { rule: 'engine-needs-part', field: 'checkpoint', why, fallback: 'set checkpoint.claimName' };
}

/** Each size beside layers, hidden size and heads, and the one value that the engine gives it (engines/reference, model.py). */
const ONE_VALUE: readonly (readonly [keyof ModelShape, (model: ModelShape) => unknown])[] = [
  ['ffnHiddenSize', ({ hiddenSize }) => 4 * hiddenSize],
  ['keyValueHeads', ({ attentionHeads }) => attentionHeads],
  ['headDim', ({ hiddenSize, attentionHeads }) => hiddenSize / attentionHeads],
  ['vocabularySize', () => 256],
  ['gatedMlp', () => false],
  ['rmsNorm', () => true],
  ['linearBias', () => false],
  ['dropout', () => false],
  ['tiedEmbeddings', () => false],
  ['learnedPositions', () => 0],
  ['attentionWindow', () => 0],
  ['windowedLayers', () => 0],
  ['attentionSinks', () => false],
  ['mtpLayers', () => 0],
  ['experts', () => undefined],
  ['latentAttention', () => undefined],
  ['stateSpace', () => undefined],
  ['layerPattern', () => undefined],
];

function modelRefusal(spec: ModelSpec): EngineRefusal | undefined {
  const model = modelOfJob(spec)?.model;
  // A model that cannot be read is refused elsewhere, for every engine.
  if (model === undefined) return undefined;
  const strange = ONE_VALUE.filter(([name, valueOf]) => model[name] !== valueOf(model)).map(([name]) => name);
  const [first] = strange;
  if (first === undefined) return undefined;
  const { layers, hiddenSize, attentionHeads } = model;
  const sizes = `layers ${layers}, hiddenSize ${hiddenSize} and attentionHeads ${attentionHeads}`;
  return {
    rule: 'engine-lacks-model',
    field: spec.layers === undefined ? 'model' : `model.${first}`,
    why: `engine "reference" trains a GPT of bytes and cannot do ${strange.map((name) => `model.${name} ${shown(model[name])}`).join(', ')}`,
    fallback: `give ${sizes} alone for such a GPT of that size, or start a program that trains this model by engine "command"`,
  };
}

function shown(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
