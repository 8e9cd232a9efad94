import { parseRanks, MAX_RANKS_PER_POD, type RankAssignment } from '@coxswain/api-types';
import { keptLogsPlace } from '@coxswain/checkpoint';
import { engineRunOf } from '../engine/engine-run.ts';
import type { Settings } from '../program/settings.ts';
import type { LogsToKeep } from './keep-logs.ts';
import { LogKeeper } from './log-keeper.ts';

/** How long the last lines may take to get into storage. */
const LAST_LINES_MS = 5_000;

/** What a pod keeps of the output of its ranks. */
export interface KeptLogsOptions {
  readonly settings: Pick<Settings, 'epoch' | 'namespace' | 'keptLogs'>;
  /** Also for the process that keeps them: it has the credentials of the bucket. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logLine: (sentence: string) => void;
}

/** Keeps the output of a pod's ranks beside the checkpoints, one incarnation after the other. Does nothing if the job has no place for it. */
export class KeptLogs {
  readonly #options: KeptLogsOptions;
  #keeper: LogKeeper | undefined;
  #ending: Promise<unknown> = Promise.resolve();

  constructor(options: KeptLogsOptions) {
    this.#options = options;
  }

  /** Other ranks are about to start. */
  begin(assignment: RankAssignment): void {
    const { environment, logLine } = this.#options;
    this.#endKeeper();
    const logs = this.#logsOf(assignment);
    this.#keeper = logs && new LogKeeper({ logs, env: environment, logLine });
  }

  write(ranks: readonly number[], kind: 'stdout' | 'stderr', chunk: Buffer): void {
    this.#keeper?.write(ranks, kind, chunk);
  }

  writeSentence(sentence: string): void {
    this.#keeper?.writeSentence(sentence);
  }

  /** Settles when everything is in storage, or after some seconds. */
  async end(): Promise<void> {
    this.#endKeeper();
    await this.#ending;
  }

  #endKeeper(): void {
    if (this.#keeper !== undefined) this.#ending = Promise.all([this.#ending, this.#keeper.end(LAST_LINES_MS)]);
    this.#keeper = undefined;
  }

  #logsOf({ ranks, saveDirectory, worldSize, incarnation }: RankAssignment): LogsToKeep | undefined {
    const { settings, environment } = this.#options;
    const { keptLogs: bounds, epoch, namespace } = settings;
    const here = parseRanks(ranks, MAX_RANKS_PER_POD);
    const first = here[0];
    const last = here.at(-1);
    if (bounds === undefined || saveDirectory === undefined || first === undefined || last === undefined)
      return undefined;
    const { startedBy = 'launcher' } = engineRunOf(environment) ?? {};
    const writers =
      startedBy === 'launcher'
        ? here.map((rank) => ({ firstRank: rank, lastRank: rank }))
        : [{ firstRank: first, lastRank: last }];
    return { ...keptLogsPlace(saveDirectory, namespace), epoch, incarnation, worldSize, writers, bounds };
  }
}
