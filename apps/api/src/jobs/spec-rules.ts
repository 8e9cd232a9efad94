import { plainSecrets, type TrainingJobSpec } from '@coxswain/api-types';
import { DomainError, type Violation } from '@coxswain/domain-error';
import { brokenLayoutRules, engineRefusal, modelRefusals } from '@coxswain/engines';
import { pointerOf } from '../http/validation.ts';

/** What a schema cannot say of a spec: the layout against the model and batch, and whether the engine runs it at all. `at` is the pointer of the spec. */
export function requireRunnable(spec: TrainingJobSpec, at: string): void {
  const missing = missingParts(spec, at);
  if (missing.length > 0) throw new DomainError('INVALID_REQUEST', firstSentence(missing), missing);
  const unknown = modelRefusals(spec.model).map(({ field, message }): Violation => ({
    pointer: pointerBelow(at, field),
    detail: message,
  }));
  if (unknown.length > 0) throw new DomainError('INVALID_REQUEST', firstSentence(unknown), unknown);
  requireLegalLayout(spec, `${at}/layout`);
  const refusal = engineRefusal(spec);
  if (refusal !== undefined) {
    const detail = `${refusal.why}; ${refusal.fallback}`;
    throw new DomainError('INVALID_REQUEST', detail, [{ pointer: pointerBelow(at, refusal.field), detail }]);
  }
}

/**
 * INVALID_REQUEST where a plain value looks like a credential, before it is kept anywhere. Asked of new jobs alone: one that was made with kubectl,
 * or before there was this rule, goes on.
 */
export function requireNoPlainSecrets({ engine }: TrainingJobSpec, at: string): void {
  const violations = plainSecrets(engine).map(({ path, message }): Violation => ({
    pointer: `${at}/engine${pointerOf(path)}`,
    detail: message,
  }));
  const [first] = violations;
  if (first === undefined) return;
  throw new DomainError('INVALID_REQUEST', `${first.pointer}: ${firstSentence(violations)}`, violations);
}

/** INVALID_LAYOUT, with a pointer per broken rule, unless every degree divides what it splits. `at` is the pointer of the layout. */
export function requireLegalLayout(spec: TrainingJobSpec, at: string): void {
  const { layout } = spec;
  // Without a layout the planner chooses among legal ones.
  if (layout === undefined) return;
  const violations = brokenLayoutRules({ ...spec, layout }).map(({ field, message }): Violation => ({
    pointer: `${at}/${field}`,
    detail: message,
  }));
  if (violations.length > 0) throw new DomainError('INVALID_LAYOUT', firstSentence(violations), violations);
}

/** INVALID_REQUEST unless the planner can choose a layout for the spec. `at` is the pointer of what asks for it. */
export function requirePlannable(spec: TrainingJobSpec, at: string): void {
  if (spec.model !== undefined && spec.training !== undefined) return;
  const detail = 'the planner needs model and training, which this job does not have; give a layout';
  throw new DomainError('INVALID_REQUEST', detail, [{ pointer: at, detail }]);
}

function missingParts(spec: TrainingJobSpec, at: string): readonly Violation[] {
  if (spec.engine.name !== 'reference') return [];
  return (['model', 'training', 'data'] as const).flatMap((part) =>
    spec[part] === undefined ? [{ pointer: `${at}/${part}`, detail: `engine "reference" needs ${part}; add it` }] : [],
  );
}

function pointerBelow(at: string, field: string): string {
  return `${at}/${field.replaceAll('.', '/')}`;
}

function firstSentence(violations: readonly Violation[]): string {
  const first = violations[0]?.detail ?? '';
  return violations.length > 1 ? `${first}; ${violations.length - 1} more in errors` : first;
}
