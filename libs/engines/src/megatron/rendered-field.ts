/** What a field of a job or of its layout becomes in Megatron-LM. Each result names its field, so that no field is forgotten. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { ModelShape } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';
import type { MegatronRelease } from './releases.ts';

/** What a field becomes. */
export type RenderedField =
  | { readonly kind: 'flag'; readonly field: string; readonly flag: string; readonly values: readonly string[] }
  /** A default that no field of the job sets; the arguments of the user can override it. */
  | { readonly kind: 'default'; readonly flag: string; readonly values: readonly string[] }
  | { readonly kind: 'variable'; readonly field: string; readonly name: string; readonly value: string }
  | { readonly kind: 'file'; readonly field: string; readonly path: string; readonly text: string }
  /** A field without a flag; the note explains it. */
  | { readonly kind: 'note'; readonly field: string; readonly text: string }
  /** A field whose value is the default of the engine, or that only the pod needs. */
  | { readonly kind: 'kept'; readonly field: string }
  | ({ readonly kind: 'refused' } & EngineRefusal);

/** What rendering a job depends on. */
export interface MegatronJob {
  readonly spec: EffectiveSpec;
  readonly layout: EffectiveSpec['layout'];
  /** Absent if the job has no model, or its model cannot be read. */
  readonly shape: ModelShape | undefined;
  /**
   * The engine. Megatron-Bridge runs Megatron-LM inside, so its fields are decided here and then written to its configuration.
   */
  readonly engine: 'megatron-lm' | 'megatron-bridge';
  readonly release: MegatronRelease;
  /** Which of Megatron-LM's programs it is; own: one that the user wrote. */
  readonly program: 'gpt' | 'hybrid' | 'bert' | 'own';
  /** Whether the GPUs are of Blackwell or later, if the runtime names them. */
  readonly isBlackwell: boolean;
}

/** A flag with its values. */
export function flag(field: string, name: string, ...values: readonly (string | number)[]): readonly RenderedField[] {
  return [{ kind: 'flag', field, flag: name, values: values.map(String) }];
}

/** The flag where there is a value. */
export function flagOf(field: string, name: string, value: string | number | undefined): readonly RenderedField[] {
  return value === undefined ? [] : flag(field, name, value);
}

/** The switch where it is on. */
export function switchOf(field: string, name: string, isOn: boolean | undefined): readonly RenderedField[] {
  return isOn === true ? flag(field, name) : [];
}

/** A flag that no field of the job sets. */
export function byDefault(name: string, ...values: readonly (string | number)[]): readonly RenderedField[] {
  return [{ kind: 'default', flag: name, values: values.map(String) }];
}

/** An environment variable. */
export function variable(field: string, name: string, value: string): readonly RenderedField[] {
  return [{ kind: 'variable', field, name, value }];
}

/** A note for the reader in place of a flag. */
export function note(field: string, text: string): readonly RenderedField[] {
  return [{ kind: 'note', field, text }];
}

/** Fields that need no flag. */
export function kept(...fields: readonly string[]): readonly RenderedField[] {
  return fields.map((field) => ({ kind: 'kept', field }));
}

/** In the order of {@link EngineRefusal}: rule, field, why, and what to do instead. */
export function refuse(
  ...[rule, field, why, fallback]: readonly [string, string, string, string]
): readonly RenderedField[] {
  return [{ kind: 'refused', rule, field, why, fallback }];
}
