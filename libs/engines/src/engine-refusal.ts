/** Why an engine cannot run a job. */
export interface EngineRefusal {
  /** Name of the rule, in kebab case. One sentence belongs to one name. */
  readonly rule: string;
  /** Below the spec, with dots, such as `model.keyValueHeads` or `layout.expert.dispatcher`. */
  readonly field: string;
  readonly why: string;
  /** What to do instead. */
  readonly fallback: string;
}
