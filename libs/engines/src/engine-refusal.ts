/** What an engine cannot do of a job. */
export interface EngineRefusal {
  /** Name of the rule, in kebab case; the same sentence is never said under two names. */
  readonly rule: string;
  /** Below the spec, with dots, such as `model.keyValueHeads` or `layout.expert.dispatcher`. */
  readonly field: string;
  readonly why: string;
  /** What to do instead. */
  readonly fallback: string;
}
