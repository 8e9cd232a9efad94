/** How is a word of the job or of the layout told to Megatron-LM? Each answer names the field that it is for, so that none can be forgotten. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { ModelShape } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';
import type { MegatronRelease } from './releases.ts';

export type Told =
  | { readonly kind: 'flag'; readonly field: string; readonly flag: string; readonly values: readonly string[] }
  /** Something that no word of the job says; the user's arguments may say otherwise. */
  | { readonly kind: 'default'; readonly flag: string; readonly values: readonly string[] }
  | { readonly kind: 'variable'; readonly field: string; readonly name: string; readonly value: string }
  | { readonly kind: 'file'; readonly field: string; readonly path: string; readonly text: string }
  /** A word that is kept without a flag: the note says how. */
  | { readonly kind: 'note'; readonly field: string; readonly text: string }
  /** A word that means what the engine does anyway, or that the pod is told. */
  | { readonly kind: 'kept'; readonly field: string }
  | ({ readonly kind: 'refused' } & EngineRefusal);

/** What is known of the job while its words are told. */
export interface Asked {
  readonly spec: EffectiveSpec;
  readonly layout: EffectiveSpec['layout'];
  /** Absent where the job has no model, or its words mean none. */
  readonly shape: ModelShape | undefined;
  /** Whose job it is. Megatron-Bridge trains with Megatron-LM inside, so that the words of both are decided here, and is told them by its configuration. */
  readonly engine: 'megatron-lm' | 'megatron-bridge';
  readonly release: MegatronRelease;
  /** Which of Megatron-LM's programs it is; own: one that the user wrote. */
  readonly program: 'gpt' | 'hybrid' | 'bert' | 'own';
  /** GPUs of Blackwell and later, where the runtime says which there are. */
  readonly isBlackwell: boolean;
}

export function flag(field: string, name: string, ...values: readonly (string | number)[]): readonly Told[] {
  return [{ kind: 'flag', field, flag: name, values: values.map(String) }];
}

/** The flag where there is a value. */
export function flagOf(field: string, name: string, value: string | number | undefined): readonly Told[] {
  return value === undefined ? [] : flag(field, name, value);
}

/** The switch where it is on. */
export function switchOf(field: string, name: string, isOn: boolean | undefined): readonly Told[] {
  return isOn === true ? flag(field, name) : [];
}

export function byDefault(name: string, ...values: readonly (string | number)[]): readonly Told[] {
  return [{ kind: 'default', flag: name, values: values.map(String) }];
}

export function variable(field: string, name: string, value: string): readonly Told[] {
  return [{ kind: 'variable', field, name, value }];
}

export function note(field: string, text: string): readonly Told[] {
  return [{ kind: 'note', field, text }];
}

export function kept(...fields: readonly string[]): readonly Told[] {
  return fields.map((field) => ({ kind: 'kept', field }));
}

/** In the order of {@link EngineRefusal}: rule, field, why, and what to do instead. */
export function refuse(...[rule, field, why, fallback]: readonly [string, string, string, string]): readonly Told[] {
  return [{ kind: 'refused', rule, field, why, fallback }];
}
