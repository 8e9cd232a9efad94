import type { TrainingJobSpecInput } from '@coxswain/api-types';

/** A job as a user would write it into a file: what has a default may be left out. */
export interface WrittenJob {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec: TrainingJobSpecInput;
}
