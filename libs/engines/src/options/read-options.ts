/** Reads `engine.options` into a spec: options that set a fact are read into it, and the others are passed to the engine. */
import type { EffectiveSpec } from '@coxswain/api-types';
import { isEngineName } from '../engine-list.ts';
import type { EngineRefusal } from '../engine-refusal.ts';
import { fieldOf, isSameValue, valueOfText, withField } from './option-values.ts';
import type { Json } from '../adapters/check.ts';
import { pricedOption } from './priced-options.ts';

type Option = NonNullable<EffectiveSpec['engine']['options']>[number];

/** An option that contradicts a field of the job, and that field. */
export interface Contradiction {
  readonly field: string;
  readonly why: string;
}

/** A spec with its options read. */
export interface ReadOptions {
  /** Without options; with the facts that they set. */
  readonly spec: EffectiveSpec;
  /** Options that set no fact. */
  readonly others: readonly Option[];
  readonly contradictions: readonly Contradiction[];
}

/** Reads the options of a spec. */
export function readOptions(whole: EffectiveSpec): ReadOptions {
  const { options = [], ...engine } = whole.engine;
  let spec: EffectiveSpec = { ...whole, engine };
  const others: Option[] = [];
  const contradictions: Contradiction[] = [];
  for (const option of options) {
    const fact = pricedOption(engine.name, option.name);
    const value = fact?.toField(valueOfText(option.value));
    if (fact === undefined || value === undefined || isOfMissingPart(spec, fact.field)) {
      others.push(option);
      continue;
    }
    const { field } = fact;
    const stated = fieldOf(spec, field);
    if (stated === undefined) spec = withField(spec, field, value);
    else if (!isSameValue(stated as Json, value as Json)) contradictions.push(contradiction(option, field, stated));
  }
  return { spec, others, contradictions };
}

/** Parts of a job that may be left out as a whole: an option does not begin one. */
function isOfMissingPart(spec: EffectiveSpec, field: string): boolean {
  if (field.startsWith('layout.expert.')) return spec.layout.expert === undefined;
  if (field.startsWith('training.schedule.')) return spec.training?.schedule === undefined;
  return field.startsWith('training.') && spec.training === undefined;
}

function contradiction({ name, value }: Option, field: string, stated: unknown): Contradiction {
  const shown = typeof stated === 'object' ? JSON.stringify(stated) : String(stated);
  return { field, why: `engine.options sets ${name} to ${value}, and ${field} is ${shown}` };
}

/** One refusal for all contradictions, each with the field that decides; undefined if there is none. */
export function optionsRefusal(contradictions: readonly Contradiction[]): EngineRefusal | undefined {
  if (contradictions.length === 0) return undefined;
  const fields = [...new Set(contradictions.map(({ field }) => field))];
  return {
    rule: 'options-agree-with-job',
    field: 'engine.options',
    why: contradictions.map(({ why }) => why).join('; '),
    fallback: `set ${fields.join(', ')} to what you want, and leave ${contradictions.length === 1 ? 'the option' : 'these options'} out`,
  };
}

/** The layout that a job runs on, with the facts that its engine's options set. */
export function layoutWithOptions({ engine, layout }: WithOptions): EffectiveSpec['layout'] {
  if ((engine.options ?? []).length === 0 || !isEngineName(engine.name)) return layout;
  return readOptions({ engine, layout } as EffectiveSpec).spec.layout;
}

interface WithOptions extends Pick<EffectiveSpec, 'layout'> {
  readonly engine: { readonly name: string; readonly options?: readonly Option[] | undefined };
}
