import type { ApiClient } from '@coxswain/api-client';
import type { Asker } from './asker.ts';
import type { OutputFormat } from '../output/output.ts';
import type { ProjectJobs } from './project-jobs.ts';

/** What the commands need of the process they run in; tests give their own. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
  readonly stdout: NodeJS.WritableStream;
  /** Characters of a line of the terminal; undefined when the output goes elsewhere: then nothing is shortened. */
  readonly widthColumns: number | undefined;
  /** Resolves after that time, or at once when the signal or `until` aborts; a pause that nobody ends keeps the process alive. */
  readonly pause: (durationMs: number, until?: AbortSignal) => Promise<void>;
  /** Shows an address to the person, as well as it can; absent: not at all. */
  readonly openBrowser?: (url: string) => void;
  /** Begins to ask the person at the terminal; absent where there is none. */
  readonly openAsker?: () => Asker;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** One run of the program: its context, the project it talks to, and how it answers. */
export interface Session extends CliContext {
  /** The API alone, for what needs no project. */
  readonly connect: () => ApiClient;
  readonly open: () => Promise<ProjectJobs>;
  /** For whoever has no token yet: where he signs in, and where that is kept. */
  readonly signInPlace: () => {
    readonly server: string;
    readonly credentialsPath: string;
    readonly api: ApiClient;
    readonly withToken: (token: string) => ApiClient;
  };
  readonly outputFormat: () => OutputFormat;
  /** Prints data in the format that was asked for; `table` makes the one for people. */
  readonly show: <T>(data: T, table: (data: T) => string) => void;
  readonly setExitCode: (code: number) => void;
}
