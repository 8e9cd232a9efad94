import type { ApiClient } from '@coxswain/api-client';
import type { Asker } from './asker.ts';
import type { OutputFormat } from '../output/output.ts';
import type { ProjectJobs } from './project-jobs.ts';

/** What commands need of the process that they run in. Tests pass their own. */
export interface CliContext {
  /** What the user typed to start the program; `coxswain` unless given. */
  readonly programName?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
  readonly stdout: NodeJS.WritableStream;
  /** Characters of a line of the terminal; undefined when the output goes elsewhere: then nothing is shortened. */
  readonly widthColumns: number | undefined;
  /** Whether standard output and standard error are terminals, which can show colours; absent: neither is. */
  readonly terminals?: { readonly out: boolean; readonly err: boolean };
  /** Resolves after that time, or at once when the signal or `until` aborts. A pause keeps the process alive. */
  readonly pause: (durationMs: number, until?: AbortSignal) => Promise<void>;
  /** Opens an address in a browser, if that is possible; absent: never. */
  readonly openBrowser?: (url: string) => void;
  /** Starts to ask the user at the terminal; absent without a terminal. */
  readonly openAsker?: () => Asker;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** One run of the CLI: its context, its project, and how it prints results. */
export interface Session extends CliContext {
  /** A client for calls that need no project. */
  readonly connect: () => ApiClient;
  readonly open: () => Promise<ProjectJobs>;
  /** For users without a token: the server to sign in at, and the file that keeps the credentials. */
  readonly signInPlace: () => {
    readonly server: string;
    readonly credentialsPath: string;
    readonly api: ApiClient;
    readonly withToken: (token: string) => ApiClient;
  };
  readonly outputFormat: () => OutputFormat;
  /** Prints data in the requested format; `table` makes the table. */
  readonly show: <T>(data: T, table: (data: T) => string) => void;
  readonly setExitCode: (code: number) => void;
}
