import { DEFAULT_MICRO_BATCH_SIZE, type EffectiveSpec } from '@coxswain/api-types';
import { layoutViolations } from '@coxswain/layout';

/** Every rule that the layout breaks, in one sentence; undefined when it breaks none. */
export function layoutRefusal({ layout, model, training }: EffectiveSpec): string | undefined {
  if (model === undefined || training === undefined) return undefined;
  const { globalBatchSize, microBatchSize = DEFAULT_MICRO_BATCH_SIZE } = training;
  const violations = layoutViolations(layout, { ...model, globalBatchSize, microBatchSize });
  if (violations.length === 0) return undefined;
  return violations.map((violation) => `layout.${violation.message}`).join('; ');
}
