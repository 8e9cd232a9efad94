/**
 * What does a person have to know of an engine to read what it is told?
 *
 * Each adapter exports one {@link EngineGuide}, beside the code that renders what it says, and is listed in `engine-guides.ts`;
 * `docs/reference/engines.md` is made of them. A word is a field of a job's spec (`layout.tensorParallelDegree`, `training.optimizer.beta1`); a test
 * refuses one that there is not. A field with parts stands for all of them where they go to one place.
 */

/** A field of the job, and what the engine calls it. */
export interface EngineWord {
  /** Below the spec, with dots. */
  readonly word: string;
  /** Flag, key of a file or variable, as the engine spells it; several with commas between them. */
  readonly to: string;
  /** What is otherwise than its name says: another unit, what follows from it, which releases. */
  readonly note?: string;
}

/** Something that an engine does in silence and nobody expects. */
export interface EngineTrap {
  readonly what: string;
  /** What is done about it: refused, set, told in a note. */
  readonly answer: string;
  /** Where it was read or seen: repository, release and file, or the command that shows it. */
  readonly source: string;
}

export interface EngineGuide {
  readonly words: readonly EngineWord[];
  readonly traps: readonly EngineTrap[];
}
