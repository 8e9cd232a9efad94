/** Refuses what a release of Megatron-Bridge does not support, although the Megatron-LM inside it does. */
import type { EngineRefusal } from '../../engine-refusal.ts';
import type { MegatronJob, RenderedField } from '../../megatron/rendered-field.ts';
import type { Json } from '../check.ts';
import { bridgeRelease, type Provider } from './fields.ts';
import { settingsOfFlag } from './settings.ts';

type Limit = (job: MegatronJob) => EngineRefusal | undefined;

const LIMITS: readonly Limit[] = [plainNeedsParts, torchShards, shortTable, flashIsNotDeterministic, savesNothing];

/** The first refusal; undefined if there is none. */
export function limitRefusal(
  job: MegatronJob,
  fields: readonly RenderedField[],
  provider: Provider | undefined,
): EngineRefusal | undefined {
  for (const limit of LIMITS) {
    const refusal = limit(job);
    if (refusal !== undefined) return refusal;
  }
  return fields.flatMap((one) => unsettable(one, { job, provider }) ?? [])[0];
}

/** Without a recipe the configuration has no start. */
function plainNeedsParts({ spec }: MegatronJob): EngineRefusal | undefined {
  const part = (['model', 'training', 'data'] as const).find((one) => spec[one] === undefined);
  if (spec.engine.recipe !== undefined || part === undefined) return undefined;
  return {
    rule: 'engine-needs-part',
    field: part,
    why: `megatron-bridge needs ${part}, or a recipe that has it`,
    fallback: `set ${part}, or engine.recipe`,
  };
}

/** models/model_provider.py hands every wrapper pg_collection, which core_v0.16.1's TorchFullyShardedDataParallel does not take. */
function torchShards({ spec, layout, release }: MegatronJob): EngineRefusal | undefined {
  if (layout.states?.implementation !== 'fsdp2') return undefined;
  return {
    rule: 'fsdp2-of-the-core',
    field: 'layout.states.implementation',
    why: `Megatron-Bridge ${bridgeRelease(spec.engine.release).tag} cannot start the FSDP2 of ${release.tag}, to which it hands groups that it does not take`,
    fallback: 'use distributed-optimizer or megatron-fsdp, or engine megatron-lm',
  };
}

/** models/gpt_provider.py makes the table as long as samples are. */
function shortTable({ shape, spec }: MegatronJob): EngineRefusal | undefined {
  const { learnedPositions = 0 } = shape ?? {};
  const length = spec.model?.sequenceLength;
  if (spec.engine.recipe !== undefined || learnedPositions === 0 || learnedPositions === length) return undefined;
  return {
    rule: 'table-is-as-long-as-samples',
    field: 'model.learnedPositions',
    why: `Megatron-Bridge learns as many positions as a sample has tokens, ${length ?? 0}, and not ${learnedPositions}`,
    fallback: 'set both to one number, or use engine megatron-lm',
  };
}

/** training/config.py, _validate_and_apply_deterministic_mode. */
function flashIsNotDeterministic({ layout }: MegatronJob): EngineRefusal | undefined {
  if (layout.kernel?.deterministic !== true || layout.kernel.attention !== 'flash') return undefined;
  return {
    rule: 'deterministic-without-flash',
    field: 'layout.kernel.attention',
    why: 'Megatron-Bridge takes flash attention for not deterministic, and ends',
    fallback: 'use fused or unfused, or leave kernel.deterministic out',
  };
}

/** training/config.py, CheckpointConfig.finalize. */
function savesNothing({ layout, spec }: MegatronJob): EngineRefusal | undefined {
  if (layout.checkpointPolicy?.asyncSave !== true || spec.checkpoint !== undefined) return undefined;
  return {
    rule: 'saving-beside-training-saves',
    field: 'layout.checkpointPolicy.asyncSave',
    why: 'Megatron-Bridge ends where it is to save beside training, and the job keeps no checkpoint',
    fallback: 'leave checkpointPolicy.asyncSave out, or give checkpoint',
  };
}

/** A flag for which the configuration has no field, or not this value of it. */
function unsettable(
  one: RenderedField,
  { job, provider }: { readonly job: MegatronJob; readonly provider: Provider | undefined },
): EngineRefusal | undefined {
  if (one.kind !== 'flag' && one.kind !== 'default') return undefined;
  const { tag, fields } = bridgeRelease(job.spec.engine.release);
  const field = one.kind === 'flag' ? one.field : 'engine.release';
  const settings = settingsOfFlag(one, job);
  const fallback = `leave ${field} out, or use engine megatron-lm`;
  if (settings === undefined)
    return {
      rule: 'configuration-has-field',
      field,
      why: `Megatron-Bridge ${tag} has no equivalent of ${one.flag} of Megatron-LM, or ignores it`,
      fallback,
    };
  for (const [path, value] of Object.entries(settings)) {
    const known = fields.get(path)?.find(({ providers }) => provider === undefined || providers.includes(provider));
    const why = `Megatron-Bridge ${tag} has no ${path}`;
    if (known === undefined) return { rule: 'configuration-has-field', field, why, fallback };
    const instead = `what it takes is ${known.choices.join(', ')}`;
    if (!isTaken(known.choices, value))
      return { rule: 'configuration-has-value', field, why: `${why} ${String(value)}`, fallback: instead };
  }
  return undefined;
}

function isTaken(choices: readonly string[], value: Json): boolean {
  return choices.length === 0 || value === null || choices.includes(String(value));
}
