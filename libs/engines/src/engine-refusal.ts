/** What an engine cannot do of a job. */
export interface EngineRefusal {
  /** Below the spec, with dots, such as `model.keyValueHeads`. */
  readonly field: string;
  readonly reason: string;
  /** What to do instead. */
  readonly alternative: string;
}
