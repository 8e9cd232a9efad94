import {
  type Checkpoint,
  FINALIZER,
  type Placement,
  type TrainingJob,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import type { NodeFacts } from '@coxswain/fabric';
import type { JobPlanQuestion } from '@coxswain/job-planning';
import { decide } from '../decide.ts';
import type { Action } from '../decision.ts';
import type { NodeState, Observed, ObservedPlanning, ObservedPod } from '../observed.ts';
import { sameStatus } from '../same-status.ts';
import { plannedAnswer } from './planned-answer.ts';
import { aCapacity, aCheckpoint, anExit, aNode } from './builders.ts';

/** What can go wrong, or be asked, between two looks. `pick` chooses among the candidates of that moment. */
export type WorldFault =
  | { readonly kind: 'exit'; readonly code: number; readonly pick: number }
  | { readonly kind: 'deletePod' | 'evict' | 'loseNode' | 'saveCheckpoint'; readonly pick: number }
  | { readonly kind: 'restoreNodes' | 'suspend' | 'resume' | 'cancel' | 'delete' | 'loseStatus' }
  /** The planner does not answer the question that is under way, or the next one. */
  | { readonly kind: 'plannerFails' }
  /** The operator's next look is the one it had `looksAgo` looks ago, except that it cannot write over a newer job. */
  | { readonly kind: 'staleLook'; readonly looksAgo: number }
  /** The operator dies after that many writes of its next pass. */
  | { readonly kind: 'crash'; readonly afterWrites: number };

type Snapshot = Pick<Observed, 'job' | 'pods' | 'placements' | 'checkpoints'>;

/**
 * A cluster in memory: it performs decisions as the operator's performer must, and plays API server, scheduler, kubelet and engine.
 * Deterministic; time passes only by {@link tick}. For property tests of `decide`.
 */
export class World {
  now = new Date('2026-01-01T00:00:00Z');
  job: TrainingJob | undefined;
  /** Every status that was ever written, in order. */
  readonly history: TrainingJobStatus[] = [];
  /** Writes of every kind that reached the server. */
  writes = 0;
  /** Sentences about rules that the operator's writes broke, as an auditor of the API server's log would find them. */
  readonly violations: string[] = [];
  pods: readonly ObservedPod[] = [];
  placements: readonly Placement[] = [];
  checkpoints: readonly Checkpoint[] = [];

  readonly #nodes = new Map<string, NodeState>([
    ['node-a', 'ready'],
    ['node-b', 'ready'],
    ['node-c', 'ready'],
  ]);
  #snapshots: Snapshot[] = [];
  #staleBy = 0;
  #writesUntilCrash: number | undefined;
  #serial = 0;
  /** Epochs of which a gate was lifted. */
  readonly #released = new Set<number>();
  #newestStarted = 0;
  /** What the operator's process remembers of its last question to the planner. */
  #planning: ObservedPlanning | undefined;
  /** What the planner will have said when time has passed. */
  #plannerSays: ObservedPlanning | undefined;
  #plannerFails = false;

  readonly #nodeFacts: Partial<NodeFacts>;

  /** `nodeFacts` are those of every node, beside its name and state. */
  constructor(job: TrainingJob, nodeFacts: Partial<NodeFacts> = {}) {
    this.job = job;
    this.#nodeFacts = nodeFacts;
  }

  /** Pods that compute now: started, not ended, on a node that answers. */
  computingPods(): readonly ObservedPod[] {
    return this.pods.filter((pod) => pod.phase === 'Running' && this.#nodes.get(pod.nodeName ?? '') === 'ready');
  }

  /** One pass of the operator; says whether it wrote anything. */
  reconcile(): boolean {
    const before = this.writes;
    try {
      this.#pass();
    } catch (error) {
      if (!(error instanceof OperatorDied)) throw error;
      this.#snapshots = [];
      this.#planning = undefined;
      this.#plannerSays = undefined;
    }
    this.#staleBy = 0;
    this.#writesUntilCrash = undefined;
    return this.writes > before;
  }

  /** Time passes: the scheduler binds, containers start, graces end; the engine trains, and finishes if `finishes`. */
  tick(ms: number, finishes = false): void {
    this.now = new Date(this.now.getTime() + ms);
    this.pods = this.pods.flatMap((pod) => this.#kubelet(pod, finishes));
    if (this.#plannerSays !== undefined) this.#planning = this.#plannerSays;
    this.#plannerSays = undefined;
  }

  apply(fault: WorldFault): void {
    switch (fault.kind) {
      case 'exit':
        return this.#change(this.#picked(this.computingPods(), fault.pick), (pod) => ended(pod, fault.code, this.now));
      case 'evict':
        return this.#change(this.#picked(this.computingPods(), fault.pick), (pod) => ({
          ...ended(pod, 137, this.now),
          disruption: 'EvictionByEvictionAPI',
        }));
      case 'deletePod': {
        const victim = this.#picked(this.pods, fault.pick);
        this.pods = this.pods.filter((pod) => pod !== victim);
        return;
      }
      case 'loseNode': {
        const name = this.#picked([...this.#nodes.keys()], fault.pick);
        if (name !== undefined) this.#nodes.set(name, fault.pick % 2 === 0 ? 'notReady' : 'gone');
        return;
      }
      case 'restoreNodes':
        // A kubelet that comes back ends what the API server no longer wants.
        for (const name of this.#nodes.keys()) this.#nodes.set(name, 'ready');
        this.pods = this.pods.filter((pod) => pod.deletionTimestamp === undefined || pod.phase !== 'Running');
        return;
      case 'saveCheckpoint':
        return this.#saveCheckpoint(fault.pick);
      case 'suspend':
        return this.#editSpec({ suspend: true });
      case 'resume':
        return this.#editSpec({ suspend: false });
      case 'cancel':
        return this.#editSpec({ cancel: true });
      case 'delete':
        if (this.job === undefined) return;
        this.job = this.#touched({
          ...this.job,
          metadata: { ...this.job.metadata, deletionTimestamp: this.now.toISOString() },
        });
        this.#collect();
        return;
      case 'loseStatus': {
        if (this.job === undefined) return;
        const { status: _, ...job } = this.job;
        this.job = this.#touched(job);
        return;
      }
      case 'plannerFails':
        this.#plannerFails = true;
        return;
      case 'staleLook':
        this.#staleBy = fault.looksAgo;
        return;
      case 'crash':
        this.#writesUntilCrash = fault.afterWrites;
    }
  }

  #pass(): void {
    if (this.job === undefined) return;
    this.#snapshots.push({
      job: this.job,
      pods: this.pods,
      placements: this.placements,
      checkpoints: this.checkpoints,
    });
    const seen = this.#snapshots.at(-1 - Math.min(this.#staleBy, this.#snapshots.length - 1));
    if (seen === undefined) return;
    let observed = this.#observed(seen);
    for (let round = 0; round < 2; round++) {
      const { status, actions } = decide(observed, this.now);
      if (!sameStatus(seen.job.status, status)) return this.#writeStatus(seen.job, status);
      const asked = actions.find((action) => action.kind === 'confirmMissingPods');
      for (const action of actions) this.#perform(action);
      if (asked === undefined) return;
      const absent = asked.names.filter((name) => !this.pods.some((pod) => pod.name === name));
      observed = this.#observed({ ...seen, pods: this.pods }, new Set(absent));
    }
  }

  #observed(seen: Snapshot, confirmedMissing: ReadonlySet<string> = new Set()): Observed {
    return {
      ...seen,
      confirmedMissing,
      ...(this.#planning === undefined ? {} : { planning: this.#planning }),
      nodeStates: this.#nodes,
      capacity: () =>
        aCapacity(
          [...this.#nodes].map(([name, state]) =>
            aNode({ ...this.#nodeFacts, name, ready: state === 'ready', schedulable: state !== 'gone' }),
          ),
        ),
    };
  }

  #writeStatus(seen: TrainingJob, status: TrainingJobStatus): void {
    if (this.job?.metadata.resourceVersion !== seen.metadata.resourceVersion || this.job === undefined) return;
    this.#write(() => {
      if (this.job !== undefined) this.job = this.#touched({ ...this.job, status: structuredClone(status) }, false);
      this.history.push(status);
    });
  }

  /** A write reaches the server unless the operator dies before it. */
  #write(effect: () => void): void {
    if (this.#writesUntilCrash !== undefined && this.#writesUntilCrash-- <= 0) throw new OperatorDied();
    this.writes++;
    effect();
  }

  #perform(action: Action): void {
    switch (action.kind) {
      case 'addFinalizer':
        return this.#setFinalizers([FINALIZER]);
      case 'removeFinalizer':
        return this.#setFinalizers([]);
      case 'createPlacement':
        if (this.job === undefined || this.placements.some((one) => one.metadata.name === action.name)) return;
        return this.#write(() => {
          const metadata = { name: action.name, uid: `placement-${this.#serial++}` };
          this.placements = [
            ...this.placements,
            { apiVersion: 'training.coxswain.dev/v1alpha1', kind: 'Placement', metadata, spec: action.spec },
          ];
        });
      case 'createPod':
        if (this.job === undefined || this.pods.some((pod) => pod.name === action.name)) return;
        return this.#write(() => {
          const { name, podIndex, placement } = action;
          if (this.#released.has(placement.epoch)) this.violations.push(`${name} was made after its gang was released`);
          const uid = `pod-${this.#serial++}`;
          const pod = { name, uid, epoch: placement.epoch, podIndex, gated: true, running: false, ours: true } as const;
          this.pods = [...this.pods, { ...pod, phase: 'Pending' }];
        });
      case 'liftGates':
        for (const { uid } of action.pods) {
          const pod = this.pods.find((one) => one.uid === uid && one.gated);
          if (pod !== undefined) this.#write(() => this.#liftGate(pod));
        }
        return;
      case 'deletePods':
        for (const { uid } of action.pods) {
          const pod = this.pods.find((one) => one.uid === uid);
          if (pod !== undefined) this.#write(() => this.#deletePod(pod, action.gracePeriodSeconds));
        }
        return;
      case 'deletePlacements': {
        const uids = new Set(action.placements.map(({ uid }) => uid));
        return this.#write(() => {
          this.placements = this.placements.filter(({ metadata }) => !uids.has(metadata.uid));
        });
      }
      case 'markCheckpointDamaged':
        return this.#write(() => {
          const damaged = { state: 'Damaged', message: action.message } as const;
          this.checkpoints = this.checkpoints.map((one) =>
            one.metadata.uid === action.uid ? { ...one, status: damaged } : one,
          );
        });
      case 'planJob':
        return this.#askPlanner(action.question);
      case 'forgetPlanning':
        this.#planning = undefined;
        this.#plannerSays = undefined;
        return;
      case 'createCheckpoint':
      case 'refuseLaunchers':
      case 'confirmMissingPods':
        return;
    }
  }

  #askPlanner(question: JobPlanQuestion): void {
    const { key } = question;
    this.#planning = { kind: 'asked', key };
    this.#plannerSays = this.#plannerFails
      ? { kind: 'failed', key, problem: 'it took too long', retryAtMs: this.now.getTime() + 10_000 }
      : { kind: 'answered', key, answer: plannedAnswer(question) };
    this.#plannerFails = false;
  }

  #liftGate(pod: ObservedPod): void {
    const attempt = this.job?.status?.attempts?.find(({ epoch }) => epoch === pod.epoch);
    if (attempt?.releasedAt === undefined) this.violations.push(`${pod.name} was released before that was recorded`);
    this.#released.add(pod.epoch);
    this.#change(pod, (one) => ({ ...one, gated: false }));
  }

  #deletePod(pod: ObservedPod, graceSeconds: number): void {
    // Nothing runs in a pod that is not bound or has ended: the API server removes it at once.
    if (pod.nodeName === undefined || pod.phase !== 'Running') {
      this.pods = this.pods.filter((one) => one !== pod);
      return;
    }
    const deletionTimestamp = new Date(this.now.getTime() + graceSeconds * 1000).toISOString();
    this.#change(pod, (one) => ({ ...one, deletionTimestamp }));
  }

  #kubelet(pod: ObservedPod, finishes: boolean): readonly ObservedPod[] {
    if (pod.gated || pod.phase === 'Succeeded' || pod.phase === 'Failed') return [pod];
    const node = pod.nodeName ?? this.#placedNode(pod);
    if (this.#nodes.get(node) !== 'ready') return [pod];
    if (pod.deletionTimestamp !== undefined && this.now.getTime() >= Date.parse(pod.deletionTimestamp)) return [];
    if (pod.phase === 'Pending') {
      if (pod.epoch < this.#newestStarted)
        this.violations.push(`${pod.name} started after epoch ${this.#newestStarted}`);
      this.#newestStarted = Math.max(this.#newestStarted, pod.epoch);
      return [{ ...pod, nodeName: node, phase: 'Running', running: true }];
    }
    return finishes && pod.deletionTimestamp === undefined ? [ended(pod, 0, this.now)] : [pod];
  }

  #placedNode(pod: ObservedPod): string {
    return this.placements.find(({ spec }) => spec.epoch === pod.epoch)?.spec.nodes[pod.podIndex] ?? '';
  }

  #saveCheckpoint(step: number): void {
    const [pod] = this.computingPods();
    if (this.job === undefined || pod === undefined) return;
    const checkpoint = aCheckpoint(this.job, { spec: { epoch: pod.epoch, step } });
    if (this.checkpoints.some((one) => one.metadata.name === checkpoint.metadata.name)) return;
    this.checkpoints = [...this.checkpoints, checkpoint];
  }

  #editSpec(changes: { readonly suspend?: boolean; readonly cancel?: boolean }): void {
    if (this.job === undefined) return;
    this.job = this.#touched({ ...this.job, spec: { ...this.job.spec, ...changes } });
  }

  #setFinalizers(finalizers: readonly string[]): void {
    this.#write(() => {
      if (this.job === undefined) return;
      this.job = this.#touched({ ...this.job, metadata: { ...this.job.metadata, finalizers } }, false);
      this.#collect();
    });
  }

  /** The API server removes a deleted object once nobody holds it; the garbage collector then removes what it owned. */
  #collect(): void {
    if (this.job?.metadata.deletionTimestamp === undefined || (this.job.metadata.finalizers ?? []).length > 0) return;
    this.job = undefined;
    this.pods = [];
    this.placements = [];
  }

  #touched(job: TrainingJob, specChanged = true): TrainingJob {
    const { generation = 1 } = job.metadata;
    return {
      ...job,
      metadata: {
        ...job.metadata,
        resourceVersion: `${this.#serial++}`,
        generation: generation + (specChanged ? 1 : 0),
      },
    };
  }

  #change(pod: ObservedPod | undefined, change: (pod: ObservedPod) => ObservedPod): void {
    this.pods = this.pods.map((one) => (one === pod ? change(one) : one));
  }

  #picked<T>(candidates: readonly T[], pick: number): T | undefined {
    return candidates[pick % Math.max(1, candidates.length)];
  }
}

class OperatorDied extends Error {}

function ended(pod: ObservedPod, exitCode: number, now: Date): ObservedPod {
  const { cause: _, ...exit } = anExit({ exitCode, finishedAt: now.toISOString() });
  return { ...pod, phase: exitCode === 0 ? 'Succeeded' : 'Failed', running: false, exit };
}
