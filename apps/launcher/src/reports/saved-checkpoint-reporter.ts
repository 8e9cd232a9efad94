import { join } from 'node:path';
import { isMountSilent, verifySavedInProcess } from '../checkpoints/verifier-process.ts';
import type { SavedFact } from '../facts/engine-facts.ts';
import type { Settings } from '../program/settings.ts';
import { BoundedSerialQueue } from './bounded-serial-queue.ts';
import type { Draft } from './pending-reports.ts';

/** Checkpoints that may wait for their verification; no engine saves faster than its file server. */
const MAX_WAITING = 32;
/** Verifications of one checkpoint while the file server answers nothing: 10 minutes by default, and each leaves a process behind. */
const MAX_VERIFICATIONS = 5;

/** Where checkpoints lie, and where verified ones are reported. */
export interface SavedCheckpointReporterOptions {
  readonly settings: Pick<Settings, 'checkpointMount' | 'mountPatienceMs'>;
  /** Where the ranks save, below the mount; undefined if the job keeps no checkpoints. */
  readonly saveDirectory: () => string | undefined;
  readonly logLine: (sentence: string) => void;
  readonly report: (draft: Draft) => void;
}

/** Verifies each checkpoint that rank 0 claims to have saved, one after the other, and reports those that are complete on disk. */
export class SavedCheckpointReporter {
  readonly #options: SavedCheckpointReporterOptions;
  readonly #queue = new BoundedSerialQueue(MAX_WAITING);
  #droppedSaves = 0;
  /** The ranks have ended, and the pod waits for the verifications that are left. */
  #isFinishing = false;

  constructor(options: SavedCheckpointReporterOptions) {
    this.#options = options;
  }

  /** Checkpoints that were claimed while too many others waited; they are not reported. */
  get droppedSaves(): number {
    return this.#droppedSaves;
  }

  /** Other ranks start. */
  begin(): void {
    this.#isFinishing = false;
  }

  receive(fact: SavedFact): void {
    if (!this.#queue.add(() => this.#verify(fact))) this.#droppedSaves += 1;
  }

  /** The ranks have ended: no checkpoint is verified again from now on. */
  hurry(): void {
    this.#isFinishing = true;
  }

  /** Settles when every claimed checkpoint was verified. */
  async done(): Promise<void> {
    await this.#queue.done;
  }

  async #verify(fact: SavedFact): Promise<void> {
    const { settings, saveDirectory, logLine, report } = this.#options;
    const directory = saveDirectory();
    const { step } = fact;
    if (directory === undefined)
      return logLine(`Rank 0 claims a checkpoint of step ${step}, but this job keeps none; it is not reported.`);
    const verify = (): ReturnType<typeof verifySavedInProcess> =>
      verifySavedInProcess(
        { saveDirectory: join(settings.checkpointMount, directory), fact },
        { patienceMs: settings.mountPatienceMs },
      );
    let outcome = await verify();
    for (let tries = 1; tries < MAX_VERIFICATIONS && isMountSilent(outcome) && !this.#isFinishing; tries++)
      outcome = await verify();
    if (outcome.kind === 'verified') report({ kind: 'checkpointSaved', checkpoint: outcome.value });
    else if (outcome.kind === 'notVerified')
      logLine(`The checkpoint of step ${step} could not be verified and is not reported: ${outcome.why}`);
    else logLine(`The checkpoint of step ${step} did not verify and is not reported: ${outcome.why}`);
  }
}
