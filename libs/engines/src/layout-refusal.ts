import { DEFAULT_MICRO_BATCH_SIZE, type EffectiveSpec } from '@coxswain/api-types';
import { type LayoutViolation, layoutViolations } from '@coxswain/layout';
import { modelOfJob } from './model-of-job.ts';

/**
 * Every rule that the spec's layout breaks, with the field below `layout` that it concerns; empty when the layout is legal. Rules that need the
 * model or the batch are left out where the spec says nothing of these; so are rules about sizes that nobody gave and that only follow from others.
 */
export function brokenLayoutRules({ layout, model, training }: EffectiveSpec): readonly LayoutViolation[] {
  if (model === undefined || training === undefined) return layoutViolations(layout, {});
  const { globalBatchSize, microBatchSize = DEFAULT_MICRO_BATCH_SIZE } = training;
  const { sequenceLength } = model;
  // What a learnt softmax goes with is a matter of kernels: engines that have those of Transformer Engine refuse it themselves.
  const said = { ...modelOfJob(model)?.stated, attentionSinks: undefined };
  return layoutViolations(layout, { ...said, sequenceLength, globalBatchSize, microBatchSize });
}

/** What to do about a rule of layouts, whose sentence names the nearest legal value where there is one. */
export const AS_THE_RULE_SAYS =
  'change the layout as the rule says; docs/reference/generated/layout-rules.md holds them all';

/** Field and sentence as they are said of a spec. A sentence that begins with a word of the layout begins with the whole name of it. */
export function saidOfLayout({ field, message }: Pick<LayoutViolation, 'field' | 'message'>): {
  readonly field: string;
  readonly why: string;
} {
  const path = field.replaceAll('/', '.');
  const [first = ''] = path.split('.');
  const isNamed = message.startsWith(`${first} `) || message.startsWith(`${first}.`);
  return { field: `layout.${path}`, why: isNamed ? `layout.${message}` : message };
}

/** The same in one sentence; undefined when the layout is legal. */
export function layoutRefusal(spec: EffectiveSpec): string | undefined {
  const broken = brokenLayoutRules(spec);
  if (broken.length === 0) return undefined;
  return broken.map((one) => saidOfLayout(one).why).join('; ');
}
