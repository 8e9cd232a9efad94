import type { ReportLine } from './import-report.ts';
import type { WrittenRuntime } from './runtime-of-pod.ts';
import type { WrittenJob } from './written-job.ts';

/** The imported job, and what became of each field of its file. */
export interface ImportedJob {
  readonly job: WrittenJob;
  /** A line for every field of the file: taken over, changed, left. */
  readonly report: readonly ReportLine[];
  /** What its pods need beyond the job, for an administrator; absent if nothing, or if a shipped runtime has it. */
  readonly runtime?: WrittenRuntime;
}

/** An image that cannot be pulled: the report asks for the right one. */
export const IMAGE_TO_NAME = 'registry.example.com/replace/me:tag';
