import type { ProjectJobs } from './project-jobs.ts';

/** What the commands need of the process they run in; tests give their own. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
  readonly stdout: NodeJS.WritableStream;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** One run of the program: its context, the project it talks to, and how it answers. */
export interface Session extends CliContext {
  readonly open: () => Promise<ProjectJobs>;
  /** Prints data in the format that was asked for; `table` makes the one for people. */
  readonly show: <T>(data: T, table: (data: T) => string) => void;
  readonly setExitCode: (code: number) => void;
}
