/** Renders a whole job for one release of Megatron-LM, or refuses what that release cannot do. */
import type { EffectiveSpec } from '@coxswain/api-types';
import { engineSupport, layoutViolations, type ModelShape } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';
import { checkpointArguments } from './checkpoint-arguments.ts';
import { communicationArguments } from './communication-arguments.ts';
import { dataArguments } from './data-arguments.ts';
import { gridArguments } from './grid-arguments.ts';
import { kernelArguments } from './kernel-arguments.ts';
import { isCoveredBy, fieldsOfJob } from './fields-of-job.ts';
import { memoryArguments } from './memory-arguments.ts';
import { modelArguments } from './model-arguments.ts';
import { pipelineArguments } from './pipeline-arguments.ts';
import { releasesWith } from './releases.ts';
import { sequenceArguments } from './sequence-arguments.ts';
import { stateArguments } from './state-arguments.ts';
import type { MegatronJob, RenderedField } from './rendered-field.ts';
import { trainingArguments } from './training-arguments.ts';
import { AS_THE_RULE_SAYS, describeViolation } from '../layout-refusal.ts';

/** In the order that people read: the model, then its division, then its training. */
const SECTIONS: readonly ((job: MegatronJob) => readonly RenderedField[])[] = [
  modelArguments,
  gridArguments,
  pipelineArguments,
  sequenceArguments,
  stateArguments,
  memoryArguments,
  communicationArguments,
  kernelArguments,
  trainingArguments,
  dataArguments,
  checkpointArguments,
];

/** Everything that a job becomes, refusals included. */
export function megatronArguments(job: MegatronJob): readonly RenderedField[] {
  return SECTIONS.flatMap((section) => section(job));
}

/** Every refusal, the most specific rule first. The arguments of the user are checked elsewhere. */
export function fieldRefusals(job: MegatronJob, fields: readonly RenderedField[]): readonly EngineRefusal[] {
  const refused = [...fields.flatMap(refusals), ...ruleRefusals(job), ...lackingFlags(job, fields)];
  // If one field is refused, the fields that depend on it can be missing.
  return refused.length > 0 ? refused : uncoveredFields(job, fields);
}

function refusals(one: RenderedField): readonly EngineRefusal[] {
  if (one.kind !== 'refused') return [];
  const { rule, field, why, fallback } = one;
  return [{ rule, field, why, fallback }];
}

/** Rules of layouts that hold on this engine alone, and what no release of it can do. */
function ruleRefusals({ spec, layout, shape, engine }: MegatronJob): readonly EngineRefusal[] {
  const broken = layoutViolations(layout, { ...factsOf(spec, shape), engine }).map((one) => ({
    rule: one.rule,
    ...describeViolation(one),
    fallback: AS_THE_RULE_SAYS,
  }));
  const support = engineSupport(engine, layout);
  if (support.kind === 'supported') return broken;
  const unsupported = support.refusals.map(({ option, reason, fallback }) => ({
    rule: 'engine-lacks-option',
    field: `layout.${option}`,
    why: reason,
    fallback,
  }));
  return [...unsupported, ...broken];
}

function factsOf(
  { training, model }: EffectiveSpec,
  shape: ModelShape | undefined,
): Parameters<typeof layoutViolations>[1] {
  return {
    ...shape,
    ...(training === undefined
      ? {}
      : { globalBatchSize: training.globalBatchSize, microBatchSize: training.microBatchSize ?? 1 }),
    ...(model === undefined ? {} : { sequenceLength: model.sequenceLength }),
  };
}

/** Options and choices that this release lacks, with those that have them. */
function lackingFlags({ release, engine }: MegatronJob, fields: readonly RenderedField[]): readonly EngineRefusal[] {
  return fields.flatMap((one) => {
    if (one.kind !== 'flag' && one.kind !== 'default') return [];
    const field = one.kind === 'flag' ? one.field : 'engine.release';
    const option = release.options.get(one.flag);
    if (option === undefined) {
      const others = releasesWith(one.flag);
      const why = `Megatron-LM ${release.tag} has no ${one.flag}`;
      const elsewhere = engine === 'megatron-lm' ? 'set engine.release to' : 'use engine megatron-lm at release';
      const fallback =
        others.length === 0 ? `leave ${field} out` : `${elsewhere} ${others.join(' or ')}, or leave ${field} out`;
      return [{ rule: 'release-has-option', field, why, fallback }];
    }
    const wrong = option.choices.length === 0 ? undefined : one.values.find((value) => !option.choices.includes(value));
    if (wrong === undefined) return [];
    const why = `${one.flag} of Megatron-LM ${release.tag} has no ${wrong}`;
    return [{ rule: 'release-has-option', field, why, fallback: `what it has is ${option.choices.join(', ')}` }];
  });
}

/** A refusal for each field of the job that was not rendered, so that no field is dropped. */
function uncoveredFields({ spec, shape }: MegatronJob, fields: readonly RenderedField[]): readonly EngineRefusal[] {
  const covered = [...new Set(fields.flatMap((one) => ('field' in one ? [one.field] : [])))];
  const missing = fieldsOfJob(spec, shape).filter((field) => !covered.some((other) => isCoveredBy(field, other)));
  return missing.map((field) => ({
    rule: 'engine-lacks-word',
    field,
    why: `Megatron-LM has no option for ${field}`,
    fallback: 'leave it out',
  }));
}
