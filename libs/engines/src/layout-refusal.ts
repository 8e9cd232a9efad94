import { DEFAULT_MICRO_BATCH_SIZE, type EffectiveSpec } from '@coxswain/api-types';
import { type LayoutViolation, layoutViolations } from '@coxswain/layout';
import { modelOfJob } from './model-of-job.ts';

/**
 * Every rule that the layout of a spec breaks, with the field below `layout`; empty if the layout is legal. Rules that need the
 * model or the batch are skipped if the spec has none. Rules about sizes that are only derived are skipped too.
 */
export function brokenLayoutRules({ layout, model, training }: EffectiveSpec): readonly LayoutViolation[] {
  if (model === undefined || training === undefined) return layoutViolations(layout, {});
  const { globalBatchSize, microBatchSize = DEFAULT_MICRO_BATCH_SIZE } = training;
  const { sequenceLength } = model;
  // What a learnt softmax goes with is a matter of kernels: engines that have those of Transformer Engine refuse it themselves.
  const facts = { ...modelOfJob(model)?.stated, attentionSinks: undefined };
  return layoutViolations(layout, { ...facts, sequenceLength, globalBatchSize, microBatchSize });
}

/** What to do about a broken layout rule. Its sentence names the nearest legal value if there is one. */
export const AS_THE_RULE_SAYS =
  'change the layout as the rule says; docs/reference/generated/layout-rules.md lists all rules';

/** The field and the sentence of a violation, as they apply to a spec: the names of fields begin with `layout`. */
export function describeViolation({ field, message }: Pick<LayoutViolation, 'field' | 'message'>): {
  readonly field: string;
  readonly why: string;
} {
  const path = field.replaceAll('/', '.');
  const [first = ''] = path.split('.');
  const isNamed = message.startsWith(`${first} `) || message.startsWith(`${first}.`);
  return { field: `layout.${path}`, why: isNamed ? `layout.${message}` : message };
}

/** All violations in one sentence; undefined if the layout is legal. */
export function layoutRefusal(spec: EffectiveSpec): string | undefined {
  const broken = brokenLayoutRules(spec);
  if (broken.length === 0) return undefined;
  return broken.map((one) => describeViolation(one).why).join('; ');
}
