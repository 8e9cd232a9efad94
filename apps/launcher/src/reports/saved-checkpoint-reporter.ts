import { join } from 'node:path';
import type { BrokenSave, SavedCheckpoint, SavedProgress } from '@coxswain/api-types';
import { hasReader } from '@coxswain/checkpoint';
import { safeText } from '@coxswain/safe-text';
import { isBroken, type SaveInspection } from '../checkpoints/inspect-save.ts';
import { inspectSaveInProcess, isMountSilent, verifySavedInProcess } from '../checkpoints/verifier-process.ts';
import type { BucketSaves, UploadOptions } from '../bucket/bucket-saves.ts';
import { GangSaves, type SavingGang } from '../bucket/gang-saves.ts';
import type { SavedFact, UnmarkedPeriod } from '../facts/engine-facts.ts';
import type { Settings } from '../program/settings.ts';
import { BoundedSerialQueue } from './bounded-serial-queue.ts';
import type { Draft } from './pending-reports.ts';

const MAX_WHY_CHARACTERS = 500;
/** Checkpoints that may wait for their verification; no engine saves faster than its file server. */
const MAX_WAITING = 32;
/** Verifications of one checkpoint while the file server answers nothing: 10 minutes by default, and each leaves a process behind. */
const MAX_VERIFICATIONS = 5;
/** An inspection that takes longer gives up: the save is reported without one. */
const MAX_INSPECTION_MS = 60_000;
/** All that are left once the ranks have ended, together. */
const MAX_LAST_INSPECTIONS_MS = 5_000;
/** The same if the pod was asked to stop: ranks that save to the end of its grace period leave it three seconds. */
const MAX_STOPPING_INSPECTIONS_MS = 1_500;
/** Uploads before other ranks start in this pod: the operator waits 60 s for their end. */
const RESTART_UPLOADS_MS = 40_000;

/** How the ranks have ended; saves of them may still wait. */
export interface LastVerifications {
  /** The pod was asked to stop, and may be killed soon. */
  readonly isStopping: boolean;
  /** Other ranks start in this pod. */
  readonly isRestarting?: boolean;
}

/** Where checkpoints lie, and where verified ones are reported. */
export interface SavedCheckpointReporterOptions {
  readonly settings: Pick<Settings, 'checkpointMount' | 'mountPatienceMs' | 'nodeName'>;
  /** Where the ranks save, below the mount; undefined if the job keeps no checkpoints. */
  readonly saveDirectory: () => string | undefined;
  readonly logLine: (sentence: string) => void;
  readonly report: (draft: Draft) => void;
  /** Reports a save that is broken and not reported as saved. */
  readonly reportBroken: (broken: BrokenSave) => void;
  /** Whether the operator that was connected last reads verdicts. */
  readonly readsVerdicts: () => boolean;
  /** Loss and tokens at a step, and what was trained while its save was being written; undefined: no step was reported. */
  readonly progressAt: (step: number, unmarked?: UnmarkedPeriod) => SavedProgress | undefined;
  /** Where complete saves go before they are reported; undefined: they stay where they are. */
  readonly bucket: BucketSaves | undefined;
  /** The gang, if its ranks save on the disks of several nodes; undefined: this pod has all ranks. */
  readonly gang?: () => SavingGang | undefined;
}

interface WhereAndWhen {
  readonly saveDirectory: string;
  readonly unmarked: UnmarkedPeriod | undefined;
}

/** Verifies each checkpoint that rank 0 claims to have saved, one after the other, and reports those that are complete on disk. */
export class SavedCheckpointReporter {
  readonly #options: SavedCheckpointReporterOptions;
  readonly #queue = new BoundedSerialQueue(MAX_WAITING);
  #droppedSaves = 0;
  /** When inspections have to end, because the ranks have ended and the pod waits for the verifications that are left. */
  #finishByMs: number | undefined;
  #uploads = new AbortController();
  /** Shortens the inspection that runs. */
  #shorten: () => void = () => undefined;

  constructor(options: SavedCheckpointReporterOptions) {
    this.#options = options;
  }

  /** Checkpoints that were claimed while too many others waited; they are not reported. */
  get droppedSaves(): number {
    return this.#droppedSaves;
  }

  /** Other ranks start. */
  begin(): void {
    this.#finishByMs = undefined;
    this.#uploads = new AbortController();
  }

  receive(fact: SavedFact): void {
    if (!this.#queue.add(() => this.#verify(fact))) this.#droppedSaves += 1;
  }

  /** The ranks have ended: no checkpoint is verified again from now on. `isStopping`: the pod may be killed soon. */
  hurry({ isStopping, isRestarting = false }: LastVerifications): void {
    if (isRestarting) this.#limitUploads();
    this.#finishByMs ??= performance.now() + (isStopping ? MAX_STOPPING_INSPECTIONS_MS : MAX_LAST_INSPECTIONS_MS);
    this.#shorten();
  }

  /** Settles when every claimed checkpoint was verified. */
  async done(): Promise<void> {
    await this.#queue.done;
  }

  async #verify(fact: SavedFact): Promise<void> {
    const { settings, saveDirectory, logLine } = this.#options;
    const directory = saveDirectory();
    const { step } = fact;
    if (directory === undefined)
      return logLine(`Rank 0 claims a checkpoint of step ${step}, but this job keeps none; it is not reported.`);
    const gang = this.#options.gang?.();
    if (this.#options.bucket !== undefined && gang !== undefined)
      return await this.#publish(fact, gang, this.#options.bucket);
    const verify = (): ReturnType<typeof verifySavedInProcess> =>
      verifySavedInProcess(
        { saveDirectory: join(settings.checkpointMount, directory), fact },
        { patienceMs: settings.mountPatienceMs },
      );
    let outcome = await verify();
    for (let tries = 1; tries < MAX_VERIFICATIONS && isMountSilent(outcome) && this.#finishByMs === undefined; tries++)
      outcome = await verify();
    if (outcome.kind === 'verified')
      await this.#reportInspected(outcome.value, { saveDirectory: directory, unmarked: fact.unmarked });
    else if (outcome.kind === 'notVerified')
      logLine(`The checkpoint of step ${step} could not be verified and is not reported: ${outcome.why}`);
    else {
      logLine(`The checkpoint of step ${step} did not verify and is not reported: ${outcome.why}`);
      this.#reportBroken(fact, outcome.why);
    }
  }

  /**
   * A broken save is reported with its verdict: the operator restores it only if another node finds it sound, and knows that the job has saved. An operator that
   * reads no verdict would restore it, so it does not hear of it. An inspection that gives up proves nothing.
   */
  async #reportInspected(saved: SavedCheckpoint, { saveDirectory, unmarked }: WhereAndWhen): Promise<void> {
    const { logLine, bucket } = this.#options;
    const { verification, contents } = hasReader(saved.format) ? await this.#inspect(saved, saveDirectory) : {};
    if (isBroken(verification)) {
      const why = verification?.findings.map(({ message }) => message).join(' ') ?? '';
      // What no other node can read is of no use to the operator.
      const isReported = bucket === undefined && this.#options.readsVerdicts();
      const then = isReported ? 'is not used unless another node finds it sound' : 'is not reported';
      logLine(`The checkpoint of step ${saved.step} is ${verification?.verdict ?? 'damaged'} and ${then}: ${why}`);
      if (bucket !== undefined) await bucket.discard(`${saveDirectory}/${saved.directory}`);
      if (!isReported) return this.#reportBroken(saved, why);
    }
    if (bucket !== undefined && !(await this.#isUploaded(saved, { saveDirectory, bucket }))) return;
    const inspection = {
      ...(verification === undefined ? {} : { verification }),
      ...(contents === undefined ? {} : { contents }),
    };
    this.#report({ ...saved, ...inspection }, unmarked);
  }

  /** After the verification, so that the report of its step has come. */
  #report(checkpoint: SavedCheckpoint, unmarked: UnmarkedPeriod | undefined): void {
    const progress = this.#options.progressAt(checkpoint.step, unmarked);
    const known = progress === undefined ? {} : { progress };
    this.#options.report({ kind: 'checkpointSaved', checkpoint: { ...checkpoint, ...known } });
  }

  #reportBroken({ step, directory }: Pick<SavedFact, 'step' | 'directory'>, why: string): void {
    this.#options.reportBroken({ step, directory, why: safeText(why, MAX_WHY_CHARACTERS) });
  }

  /** Other pods have files of the save: it is verified in the bucket, when all of them are there. */
  async #publish(fact: SavedFact, gang: SavingGang, bucket: BucketSaves): Promise<void> {
    const saves = new GangSaves(bucket, (why) => this.#reportBroken(fact, why));
    const saved = await this.#unlessAborted((options) => saves.publish(fact, gang, options));
    if (saved === undefined) return;
    const { settings } = this.#options;
    const inspection = onNode(saved.inspection, settings.nodeName);
    this.#report({ ...saved.checkpoint, ...inspection }, fact.unmarked);
  }

  /** The operator waits for the end of the ranks before it starts others in their place, and blames the node if that takes long. */
  #limitUploads(): void {
    const uploads = this.#uploads;
    setTimeout(() => uploads.abort(new Error('Other ranks are to start in this pod.')), RESTART_UPLOADS_MS).unref();
  }

  /** Without a limit for the upload itself if the pod ends: a save that is not in the bucket is lost with it. */
  async #isUploaded(
    { directory, manifestSha256 }: SavedCheckpoint,
    { saveDirectory, bucket }: { readonly saveDirectory: string; readonly bucket: BucketSaves },
  ): Promise<boolean> {
    const save = { folder: `${saveDirectory}/${directory}`, manifestSha256 };
    return (await this.#unlessAborted((options) => bucket.upload(save, options))) === true;
  }

  async #unlessAborted<T>(upload: (options: UploadOptions) => Promise<T>): Promise<T | undefined> {
    const isInHurry = (): boolean => this.#finishByMs !== undefined || this.#queue.isWaiting;
    const { signal } = this.#uploads;
    const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
    signal.addEventListener('abort', () => resolve(undefined));
    return await Promise.race([upload({ isInHurry, signal }), aborted]);
  }

  async #inspect({ step, directory, manifestSha256 }: SavedCheckpoint, saveDirectory: string): Promise<SaveInspection> {
    const { settings, logLine } = this.#options;
    const limit = this.#inspectionLimit();
    try {
      const outcome = await inspectSaveInProcess(
        { checkpoint: { directory: join(settings.checkpointMount, saveDirectory, directory), manifestSha256 } },
        { patienceMs: settings.mountPatienceMs, limit: limit.passed },
      );
      if (outcome.kind === 'verified') return onNode(outcome.value, settings.nodeName);
      logLine(`The checkpoint of step ${step} is reported without a verification of its bytes: ${outcome.why}`);
      return {};
    } finally {
      limit.clear();
    }
  }

  #inspectionLimit(): { readonly passed: Promise<void>; readonly clear: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const leftMs = (): number =>
      this.#finishByMs === undefined ? MAX_INSPECTION_MS : Math.max(0, this.#finishByMs - performance.now());
    let timer = setTimeout(resolve, leftMs());
    this.#shorten = () => {
      clearTimeout(timer);
      timer = setTimeout(resolve, leftMs());
    };
    const clear = (): void => {
      clearTimeout(timer);
      this.#shorten = () => undefined;
    };
    return { passed: promise, clear };
  }
}

function onNode({ verification, ...inspection }: SaveInspection, node: string): SaveInspection {
  return verification === undefined ? inspection : { ...inspection, verification: { ...verification, node } };
}
