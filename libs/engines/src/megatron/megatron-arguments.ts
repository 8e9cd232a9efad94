/** Everything that a job and its layout say, told to one release of Megatron-LM, and what cannot be told. */
import type { EffectiveSpec } from '@coxswain/api-types';
import { engineSupport, layoutViolations, type ModelShape } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';
import { checkpointWords } from './checkpoint-arguments.ts';
import { communicationWords } from './communication-arguments.ts';
import { dataWords } from './data-arguments.ts';
import { gridWords } from './grid-arguments.ts';
import { kernelWords } from './kernel-arguments.ts';
import { isSaidBy, wordsOf } from './fields-of-job.ts';
import { memoryWords } from './memory-arguments.ts';
import { modelWords } from './model-arguments.ts';
import { pipelineWords } from './pipeline-arguments.ts';
import { releasesWith } from './releases.ts';
import { sequenceWords } from './sequence-arguments.ts';
import { stateWords } from './state-arguments.ts';
import type { Asked, Told } from './rendered-field.ts';
import { trainingWords } from './training-arguments.ts';
import { AS_THE_RULE_SAYS, saidOfLayout } from '../layout-refusal.ts';

/** In the order in which people read them: the model first, then how it is divided, then how long it trains. */
const SECTIONS: readonly ((asked: Asked) => readonly Told[])[] = [
  modelWords,
  gridWords,
  pipelineWords,
  sequenceWords,
  stateWords,
  memoryWords,
  communicationWords,
  kernelWords,
  trainingWords,
  dataWords,
  checkpointWords,
];

export function megatronWords(asked: Asked): readonly Told[] {
  return SECTIONS.flatMap((section) => section(asked));
}

/** Every refusal, those that name the most particular rule first; the user's arguments are not among them. */
export function wordRefusals(asked: Asked, told: readonly Told[]): readonly EngineRefusal[] {
  const refused = [...told.flatMap(refusals), ...ruleRefusals(asked), ...lackingFlags(asked, told)];
  // Where one word is refused, those that go with it may be left unsaid.
  return refused.length > 0 ? refused : unsaid(asked, told);
}

function refusals(one: Told): readonly EngineRefusal[] {
  if (one.kind !== 'refused') return [];
  const { rule, field, why, fallback } = one;
  return [{ rule, field, why, fallback }];
}

/** Rules of layouts that hold on this engine alone, and what no release of it can do. */
function ruleRefusals({ spec, layout, shape, engine }: Asked): readonly EngineRefusal[] {
  const broken = layoutViolations(layout, { ...factsOf(spec, shape), engine }).map((one) => ({
    rule: one.rule,
    ...saidOfLayout(one),
    fallback: AS_THE_RULE_SAYS,
  }));
  const support = engineSupport(engine, layout);
  if (support.kind === 'supported') return broken;
  const lacking = support.refusals.map(({ option, reason, fallback }) => ({
    rule: 'engine-lacks-option',
    field: `layout.${option}`,
    why: reason,
    fallback,
  }));
  return [...lacking, ...broken];
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
function lackingFlags({ release, engine }: Asked, told: readonly Told[]): readonly EngineRefusal[] {
  return told.flatMap((one) => {
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

/** Words for which nothing was told: there is no way for one to be dropped. */
function unsaid({ spec, shape }: Asked, told: readonly Told[]): readonly EngineRefusal[] {
  const fields = new Set(told.flatMap((one) => ('field' in one ? [one.field] : [])));
  const words = wordsOf(spec, shape).filter((word) => ![...fields].some((field) => isSaidBy(word, field)));
  return words.map((word) => ({
    rule: 'engine-lacks-word',
    field: word,
    why: `Megatron-LM has no option for ${word}`,
    fallback: 'leave it out',
  }));
}
