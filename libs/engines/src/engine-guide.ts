/**
 * What a person must know about an engine to read its rendered form.
 *
 * Each adapter exports one {@link EngineGuide}, next to the code that renders the fields, and `engine-guides.ts` lists it.
 * `docs/reference/engines.md` is generated from the guides. A field is named as in a job's spec (`layout.tensorParallelDegree`,
 * `training.optimizer.beta1`); a test refuses a field that does not exist. A field with parts stands for all of them if they go
 * to one place.
 */

/** A field of the job, and what the engine calls it. */
export interface FieldMapping {
  /** Below the spec, with dots. */
  readonly field: string;
  /** Flag, key of a file or variable, as the engine spells it; several with commas between them. */
  readonly to: string;
  /** What differs from the name: another unit, consequences, releases. */
  readonly note?: string;
}

/** Something that an engine does without a message and that surprises users. */
export interface EngineTrap {
  readonly what: string;
  /** What Coxswain does about it: it refuses the job, sets the option, or adds a note. */
  readonly answer: string;
  /** Where it was read or seen: repository, release and file, or the command that shows it. */
  readonly source: string;
}

/** What the reference page shows about one engine. */
export interface EngineGuide {
  readonly fields: readonly FieldMapping[];
  readonly traps: readonly EngineTrap[];
}
