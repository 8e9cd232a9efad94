import { PickleDict, PickleGlobal, type PickleValue } from './pickle-value.ts';

/** How the states of objects of a class are kept. */
export interface StateForm {
  /** Names of the fields that are looked at. */
  readonly fields: readonly string[];
  /** What is kept for a state with these values of its fields, in their order; null for a field that it lacks. The array is used again. */
  readonly keep: (values: readonly PickleValue[]) => PickleValue;
}

/** How values of classes are kept, where the general form would be larger than needed. Keys are paths such as `torch.Size`. */
export interface PickleForms {
  /** What a call is read as, in place of a `PickleObject`. */
  readonly calls?: Readonly<Record<string, CallForm>>;
  /** What the state of an object is kept as. */
  readonly states?: Readonly<Record<string, StateForm>>;
}

/** What a call with these arguments is read as. */
export type CallForm = (args: PickleValue) => PickleValue;

/** `torch.Size` is called with one tuple, which is kept in its place. */
export const SIZES_AS_ARRAYS: Readonly<Record<string, CallForm>> = {
  'torch.Size': (args) => (Array.isArray(args) ? (args[0] ?? null) : null),
};

/** What is kept for a state that was built as a value. */
export function keepState({ fields, keep }: StateForm, state: PickleValue): PickleValue {
  return keep(fields.map((name) => (state instanceof PickleDict ? state.get(name) : undefined) ?? null));
}

/** Finds the form of a class, by its name once and then by the class. */
export class FormsByClass<Form> {
  readonly #forms: ReadonlyMap<string, Form>;
  readonly #found = new Map<PickleValue, Form | undefined>();
  #lastMade: PickleValue = null;
  #lastForm: Form | undefined;

  constructor(forms: Readonly<Record<string, Form>> | undefined) {
    this.#forms = new Map(Object.entries(forms ?? {}));
  }

  /** Objects of one class mostly follow each other. */
  of(made: PickleValue): Form | undefined {
    if (made === this.#lastMade) return this.#lastForm;
    this.#lastMade = made;
    this.#lastForm = this.#find(made);
    return this.#lastForm;
  }

  #find(made: PickleValue): Form | undefined {
    if (!(made instanceof PickleGlobal)) return undefined;
    if (this.#found.has(made)) return this.#found.get(made);
    const form = this.#forms.get(made.path);
    this.#found.set(made, form);
    return form;
  }
}
