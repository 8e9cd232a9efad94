/** A job of an engine that trains, loses its newest save to a damage, and trains on: as often as there are damages. */
import { ANNOTATIONS, type CheckpointRecord, type Job, LABELS } from '@coxswain/api-types';
import { waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { join } from 'node:path';
import { jobIn, submit, type TestProject } from '../support/project.ts';
import { comparableSteps } from './comparable-steps.ts';
import type { Damage } from './damages.ts';
import type { DamagedEngine } from './engines.ts';

/** Ranks take half a minute to import what they need where they share two cores. */
const DEADLINE_MS = 400_000;
/** Of a loss that is printed with four or five digits, of sums in another order. */
const LOSS_TOLERANCE = 2e-4;
const WANTED_SAVES = 3;

/** What a restart after a damage came to. */
export interface Restart {
  readonly resumedFrom: number;
  /** Attempts that ended before training, because the save could not be used. */
  readonly passedOver: number;
  /** The verdict of a pod, if one was asked for. */
  readonly worker: string | undefined;
  /** Steps whose loss was compared with that of the undamaged run. */
  readonly comparedSteps: number;
  readonly complaints: readonly string[];
}

/** The newest save of a suspended job, and the one from which it has to resume if that is damaged. */
export interface NewestSaves {
  readonly newest: CheckpointRecord;
  readonly before: CheckpointRecord;
}

/** A job of one engine, suspended between damages. */
export class DamagedRun {
  readonly #system: CoxswainSystem;
  readonly #project: TestProject;
  readonly #engine: DamagedEngine;
  readonly #id: string;
  #losses: ReadonlyMap<number, number> = new Map();

  private constructor(system: CoxswainSystem, project: TestProject, engine: DamagedEngine, id: string) {
    this.#system = system;
    this.#project = project;
    this.#engine = engine;
    this.#id = id;
  }

  /** Trains until there are three saves, and suspends the job. */
  static async start(system: CoxswainSystem, project: TestProject, engine: DamagedEngine): Promise<DamagedRun> {
    const { id } = await submit(project, engine.name, engine.spec);
    const run = new DamagedRun(system, project, engine, id);
    await run.#trainUntil((saves) => saves.length >= WANTED_SAVES);
    return run;
  }

  /** Directory of a save on this machine. */
  directoryOf({ path }: Pick<CheckpointRecord, 'path'>): string {
    return join(this.#project.folders['checkpoints'] ?? '', path);
  }

  async newestSaves(): Promise<NewestSaves> {
    const [newest, ...older] = (await this.#saves()).filter(isUsable);
    const before = older.find(({ step }) => step < (newest?.step ?? 0));
    if (newest === undefined || before === undefined) throw new Error(`${this.#engine.name} has fewer than two saves`);
    return { newest, before };
  }

  /** The save with a verification: a launcher on a busy machine has no time to verify the last save of a pod that stops. */
  async verified(save: CheckpointRecord): Promise<CheckpointRecord> {
    return save.verification === null ? await this.#verifiedByPod(save, 'V1') : save;
  }

  /** Damages the newest save, resumes the job, and lets it train beyond the step of that save. */
  async restartAfter(damage: Damage): Promise<Restart> {
    const { newest, before } = await this.newestSaves();
    const { parts } = this.#engine;
    damage.apply({ save: this.directoryOf(newest), before: this.directoryOf(before), parts });
    const worker = damage.keepsSizes ? await this.#verify(newest) : undefined;
    const earlier = this.#losses;
    const { epoch: epochBefore } = await this.#job();
    await this.#project.api.resume(this.#at);
    await this.#trainUntil((saves) =>
      saves.some(({ step, epoch }) => step >= newest.step && epoch > (epochBefore ?? 0)),
    );
    const job = await this.#job();
    const attempts = job.attempts.filter(({ epoch }) => epoch > (epochBefore ?? 0));
    const resumedFrom = attempts.at(-1)?.resumedFrom?.step ?? 0;
    const steps = comparableSteps([...earlier.keys()], resumedFrom).filter((step) => step <= newest.step);
    const others = steps.filter(
      (step) => !(Math.abs((earlier.get(step) ?? NaN) - (this.#losses.get(step) ?? NaN)) <= LOSS_TOLERANCE),
    );
    return {
      resumedFrom,
      passedOver: attempts.length - 1,
      worker,
      comparedSteps: steps.length,
      complaints: [
        ...(resumedFrom === before.step ? [] : [`it resumed from step ${resumedFrom}, and not from ${before.step}`]),
        ...(steps.length === 0 ? ['no loss could be compared'] : []),
        ...others.map((step) => `step ${step}: loss ${this.#losses.get(step)} instead of ${earlier.get(step)}`),
        ...attempts.slice(0, -1).flatMap(({ reason, charged }) => (charged === false ? [] : [`${reason} was charged`])),
      ],
    };
  }

  get #at(): { readonly project: string; readonly id: string } {
    return { project: this.#project.name, id: this.#id };
  }

  #job(): Promise<Job> {
    return this.#project.api.job(this.#at);
  }

  /** Newest first: of equal steps the latest attempt. */
  async #saves(): Promise<readonly CheckpointRecord[]> {
    const { items } = await this.#project.api.checkpoints(this.#at);
    return items.toSorted((one, other) => other.step - one.step || other.epoch - one.epoch);
  }

  async #trainUntil(isEnough: (saves: readonly CheckpointRecord[]) => boolean): Promise<void> {
    const seen = await waitFor(
      async () => {
        const saves = (await this.#saves()).filter(isUsable);
        return isEnough(saves) && saves;
      },
      { what: `the saves of ${this.#engine.name}`, deadlineMs: DEADLINE_MS, intervalMs: 500 },
    );
    const known = await this.#newLosses(seen[0]?.step ?? 0);
    await this.#project.api.suspend(this.#at);
    await jobIn(this.#project, this.#id, ['Suspended'], { deadlineMs: DEADLINE_MS });
    this.#losses = this.#engine.losses === 'log' ? known : await this.#newLosses(seen[0]?.step ?? 0);
  }

  /** Losses by step, once they reach this step: engines print every few steps. */
  #newLosses(step: number): Promise<ReadonlyMap<number, number>> {
    const read = async (): Promise<ReadonlyMap<number, number>> =>
      this.#engine.losses === 'api' ? await this.#storedLosses() : await this.#printedLosses();
    return waitFor(
      async () => {
        const losses = await read();
        return Math.max(...losses.keys()) >= step && losses;
      },
      { what: `the losses up to step ${step}`, intervalMs: 500 },
    );
  }

  async #storedLosses(): Promise<ReadonlyMap<number, number>> {
    const { items } = await this.#project.api.steps(this.#at);
    return new Map(items.flatMap(({ step, loss }) => (loss === null ? [] : [[step, loss] as const])));
  }

  async #printedLosses(): Promise<ReadonlyMap<number, number>> {
    const { uid = '' } = await this.#job();
    const selector = `${LABELS.jobUid}=${uid ?? ''}`;
    const log = await this.#system.plane.kubectl(['-n', this.#project.name, 'logs', '-l', selector, '--tail=-1']);
    const lines = log.matchAll(/\[r0\] step (\d+) loss (\d+\.\d+)/g);
    return new Map([...this.#losses, ...[...lines].map(([, step, loss]) => [Number(step), Number(loss)] as const)]);
  }

  /** Has all bytes read, and returns the verdict of the pod. */
  async #verify(save: CheckpointRecord): Promise<string> {
    const { verification } = await this.#verifiedByPod(save, 'V3');
    return `${verification?.verdict}: ${verification?.findings[0]?.message ?? 'nothing found'}`;
  }

  /** Asks for a verification, as a user does, and waits for the verdict of the pod. */
  async #verifiedByPod({ name }: CheckpointRecord, level: 'V1' | 'V3'): Promise<CheckpointRecord> {
    const request = `${ANNOTATIONS.verify}=${level} ${new Date().toISOString()}`;
    await this.#system.plane.kubectl([
      '-n',
      this.#project.name,
      'annotate',
      'checkpoint',
      name,
      request,
      '--overwrite',
    ]);
    return await waitFor(
      async () => {
        const record = (await this.#saves()).find((save) => save.name === name);
        return record?.verification?.by === 'Worker' && record;
      },
      { what: `the verification of ${name}`, deadlineMs: DEADLINE_MS, intervalMs: 500 },
    );
  }
}

function isUsable({ state, isSuspect, verification }: CheckpointRecord): boolean {
  const isBroken = verification?.verdict === 'damaged' || verification?.verdict === 'incomplete';
  return state === 'Complete' && !isSuspect && !isBroken;
}
