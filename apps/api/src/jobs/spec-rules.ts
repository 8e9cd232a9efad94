import type { TrainingJobSpec } from '@coxswain/api-types';
import { DomainError, type Violation } from '@coxswain/domain-error';
import { engineRefusal } from '@coxswain/engines';
import { layoutViolations, MAX_WORLD_SIZE, worldSize } from '@coxswain/layout';

/** What a schema cannot say of a spec: the layout against the model and batch, and whether the engine runs it at all. `at` is the pointer of the spec. */
export function requireRunnable(spec: TrainingJobSpec, at: string): void {
  const missing = missingParts(spec, at);
  if (missing.length > 0) throw new DomainError('INVALID_REQUEST', firstSentence(missing), missing);
  requireLegalLayout(spec, `${at}/layout`);
  const refusal = engineRefusal(spec);
  if (refusal !== undefined) {
    const detail = `${refusal.reason}; ${refusal.alternative}`;
    throw new DomainError('INVALID_REQUEST', detail, [{ pointer: `${at}/engine`, detail }]);
  }
}

/** INVALID_LAYOUT, with a pointer per broken rule, unless every degree divides what it splits. `at` is the pointer of the layout. */
export function requireLegalLayout(spec: TrainingJobSpec, at: string): void {
  const violations: Violation[] = [];
  const ranks = worldSize(spec.layout);
  if (ranks > MAX_WORLD_SIZE) {
    const detail = `the product of the degrees is ${ranks} GPUs; at most ${MAX_WORLD_SIZE} are supported`;
    violations.push({ pointer: at, detail });
  }
  if (spec.model !== undefined && spec.training !== undefined) {
    const { globalBatchSize, microBatchSize } = spec.training;
    for (const broken of layoutViolations(spec.layout, { ...spec.model, globalBatchSize, microBatchSize })) {
      violations.push({ pointer: `${at}/${broken.field}`, detail: broken.message });
    }
  }
  if (violations.length > 0) throw new DomainError('INVALID_LAYOUT', firstSentence(violations), violations);
}

function missingParts(spec: TrainingJobSpec, at: string): readonly Violation[] {
  if (spec.engine.name !== 'reference') return [];
  return (['model', 'training', 'data'] as const).flatMap((part) =>
    spec[part] === undefined ? [{ pointer: `${at}/${part}`, detail: `engine "reference" needs ${part}; add it` }] : [],
  );
}

function firstSentence(violations: readonly Violation[]): string {
  const first = violations[0]?.detail ?? '';
  return violations.length > 1 ? `${first}; ${violations.length - 1} more in errors` : first;
}
