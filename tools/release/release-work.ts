import type { Progress } from '../setup/progress.ts';

/** What each part of a release is given. */
export interface ReleaseWork {
  /** Absolute path of the release. */
  readonly out: string;
  /** For what is made on the way; removed at the end. */
  readonly temporary: string;
  /** Time of every file within archives, since 1970. */
  readonly seconds: number;
  readonly progress: Progress;
}
