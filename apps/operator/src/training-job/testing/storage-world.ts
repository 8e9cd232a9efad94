import type { Attempt, Checkpoint, CheckpointFault, TerminationCause } from '@coxswain/api-types';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import type { KubeObject } from '@coxswain/kube';
import { ReconcilerWorld, type PodFate } from './reconciler-world.ts';

/** down: a control file does not read either. partial: data cannot be read, and a control file can. */
export type Outage = 'down' | 'partial';

const STEPS = [100, 200, 300, 400, 500];
const PODS = 2;

/** The claim of a job with its checkpoints, five by default, and what launchers find on it before they start their ranks. */
export class StorageWorld {
  readonly world: ReconcilerWorld;
  outage: { readonly kind: Outage; readonly untilMs: number } | undefined;
  /** Steps with a shard of pod 1 whose bits were flipped, and with one that cannot be read. */
  readonly flipped = new Set<number>();
  readonly unreadable = new Set<number>();
  /** Epochs in which a rank has failed after it trained. */
  readonly failed = new Set<number>();

  constructor(steps: readonly number[] = STEPS) {
    this.world = new ReconcilerWorld({
      checkpoint: { claimName: 'checkpoints', everySteps: 20 },
      restartPolicy: { maxRestarts: 5, delaySeconds: 5 },
    });
    const { name: jobName, uid: jobUid } = this.world.job.metadata;
    for (const step of steps) {
      const { metadata, ...rest } = aCheckpoint({ jobName, jobUid, step });
      const { namespace } = this.world.job.metadata;
      this.world.cluster.create('Checkpoint', { ...rest, metadata: { name: metadata.name, namespace } });
    }
  }

  get checkpoints(): readonly Checkpoint[] {
    return this.world.cluster.list<Checkpoint & KubeObject>('Checkpoint');
  }

  get attempt(): Attempt | undefined {
    return this.world.job.status?.attempts?.at(-1);
  }

  /** Steps of checkpoints in that state, or suspect. */
  steps(state: 'Damaged' | 'suspect'): readonly number[] {
    const isMeant = ({ status }: Checkpoint): boolean =>
      state === 'suspect' ? status?.suspect !== undefined : status?.state === state;
    return this.checkpoints.filter(isMeant).map(({ spec }) => spec.step);
  }

  begin(kind: Outage, ms: number): void {
    this.outage = { kind, untilMs: this.world.nowMs + ms };
  }

  /** Lives until every pod of an attempt trains, or the job waits for a user. Returns the messages of condition Placed while it restarted. */
  async untilItTrains(): Promise<readonly string[]> {
    const waited = new Set<string>();
    for (let turn = 0; turn < 4_000; turn += 1) {
      await this.world.live(this.#fateOf);
      const { state, conditions = [] } = this.world.job.status ?? {};
      for (const { reason, message } of conditions) if (reason === 'WaitingForRestartDelay') waited.add(message);
      if (state === 'Running' || conditions.some(({ reason }) => reason === 'CheckpointsUnusable')) return [...waited];
      this.world.nowMs += 5_000;
    }
    throw new Error(`after 4000 turns the job still does not train: ${this.world.job.status?.summary ?? ''}`);
  }

  readonly #fateOf: PodFate = ({ epoch, podIndex }) => {
    if (this.failed.has(epoch)) return { ...CAUSE, epoch, kind: 'engineFailed', exitCode: 1, lastStep: 5 };
    const { resumedFrom, passedOver = [] } =
      this.world.job.status?.attempts?.find((attempt) => attempt.epoch === epoch) ?? {};
    if (resumedFrom === undefined) return 'runs';
    const checkpointFault = this.#faultOf(resumedFrom.step, podIndex);
    if (checkpointFault !== undefined) {
      const kind = checkpointFault.kind === 'ContentDiffers' ? 'checkpointUnreadable' : 'checkpointIoError';
      return { ...CAUSE, epoch, kind, checkpointFault };
    }
    const well = podIndex === 0 ? passedOver.find(({ step }) => this.#isWell(step)) : undefined;
    return well === undefined
      ? 'runs'
      : { ...CAUSE, epoch, kind: 'checkpointIoError', verifiedCheckpoint: well.checkpoint };
  };

  #isWell(step: number): boolean {
    return Array.from({ length: PODS }, (_, podIndex) => this.#faultOf(step, podIndex)).every(
      (one) => one === undefined,
    );
  }

  #faultOf(step: number, podIndex: number): CheckpointFault | undefined {
    const path = `/coxswain/checkpoints/step-${step}/rank-${podIndex}.bin`;
    const kind = this.outage !== undefined && this.world.nowMs < this.outage.untilMs ? this.outage.kind : undefined;
    if (kind === 'down') return { kind: 'MountBroken', path, errno: 'EIO' };
    if (kind === 'partial') return { kind: 'FileUnreadable', path, errno: 'EIO' };
    if (podIndex !== 1) return undefined;
    if (this.unreadable.has(step)) return { kind: 'FileUnreadable', path, errno: 'EIO' };
    return this.flipped.has(step)
      ? { kind: 'ContentDiffers', path, expected: 'SHA-256 a', found: 'SHA-256 b' }
      : undefined;
  }
}

const CAUSE: TerminationCause = {
  version: 1,
  kind: 'engineFailed',
  epoch: 1,
  node: 'node-a',
  message: '',
  lastLines: [],
  unreportedCheckpoints: [],
};
