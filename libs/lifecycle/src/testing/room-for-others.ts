import { aPlannedJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { NODE_LABELS, type TrainingJob, type TrainingJobSpec } from '@coxswain/api-types';
import { type ClaimChoice, DEFAULT_CLAIM_RULES, priorityOf } from '@coxswain/scheduling';
import { smallerSizes } from '../epoch/smaller-sizes.ts';
import { aNode } from './builders.ts';
import { GPUS_PER_POD, SharedCluster } from './shared-cluster.ts';
import { World } from './world.ts';

const CLASSES = [
  { name: 'high', value: 100, isDefault: false, neverPreempts: false },
  { name: 'polite', value: 100, isDefault: false, neverPreempts: true },
  { name: 'low', value: 1, isDefault: false, neverPreempts: false },
];

/** A job of a {@link PriorityTown}: `high`, `low`, or `polite`, which is as high and never preempts. */
export interface TownJob {
  readonly name: string;
  readonly className: 'high' | 'low' | 'polite';
  readonly namespace?: string;
  readonly spec?: Partial<TrainingJobSpec>;
  /** The planner chooses its layout, for between so many GPUs. Absent: its layout needs two pods. */
  readonly elastic?: { readonly gpus: number; readonly minGpus: number };
}

/** Jobs of two pods each with priorities, on nodes that hold one pod each, and one operator for all of them. */
export class PriorityTown {
  readonly cluster: SharedCluster;
  readonly jobs: ReadonlyMap<string, World>;
  /** Rules that were broken; empty: none. */
  readonly violations: string[] = [];
  expiresAfterSeconds = 1_200;
  private death:
    { readonly afterWrites: number; readonly term: number; readonly lateMs: number | undefined } | undefined;

  constructor(jobs: readonly TownJob[], nodes: readonly string[] = ['node-a', 'node-b']) {
    const labels = { ...aNode().labels, [NODE_LABELS.gpuType]: 'h100' };
    const nodeFacts = { gpuCapacity: GPUS_PER_POD, labels };
    this.cluster = new SharedCluster({ nodes, nodeFacts, monotonicMs: () => this.nowMs });
    this.cluster.priorityClasses = CLASSES;
    this.cluster.makeRoom = (job) => this.#choose(job, this.cluster.jobs());
    this.jobs = new Map(jobs.map((about, index) => [about.name, this.#worldOf(about, index)]));
  }

  #worldOf({ name, className, namespace = 'research', spec, elastic }: TownJob, index: number): World {
    const always = { priorityClassName: className, restartPolicy: { maxRestarts: 100, delaySeconds: 0 } };
    const job = aTrainingJob({
      metadata: { name, namespace, uid: `${String(index).padStart(8, '0')}-uid` },
      spec: { ...always, ...spec },
    });
    const planned = elastic === undefined ? job : { ...job, spec: aPlannedJobSpec({ ...always, ...elastic }) };
    const world = new World(planned, {}, [], this.cluster);
    world.reportsSteps = true;
    return world;
  }

  get nowMs(): number {
    return [...(this.jobs?.values() ?? [])][0]?.now.getTime() ?? 0;
  }

  /** From now on the scheduler chooses which jobs make room, and no job is protected. */
  chooseAsScheduled(): void {
    const rules = { ...DEFAULT_CLAIM_RULES, leastProtectedSeconds: 0, protectedStarts: 0 };
    this.cluster.makeRoom = ({ metadata }, request) =>
      this.cluster.scheduler.makeRoomFor(metadata.uid, request, { savesWhenAsked: () => true, smallerSizes, rules });
  }

  world(name: string): World {
    const world = this.jobs.get(name);
    if (world === undefined) throw new Error(`no job ${name}`);
    return world;
  }

  job(name: string): TrainingJob {
    const { job } = this.world(name);
    if (job === undefined) throw new Error(`job ${name} is gone`);
    return job;
  }

  /** The operator reconciles these jobs once, in their order; without names, every job. It dies at the write that {@link dieAfter} names. */
  reconcile(...names: readonly string[]): void {
    for (const name of names.length === 0 ? this.jobs.keys() : names) {
      const world = this.world(name);
      const { death } = this;
      const afterWrites = (death?.afterWrites ?? 0) - this.writes();
      if (death !== undefined && afterWrites >= 0 && this.cluster.leaderTerm === death.term)
        world.apply({ kind: 'crash', afterWrites, ...(death.lateMs === undefined ? {} : { lateMs: death.lateMs }) });
      world.reconcile();
    }
    this.#audit();
  }

  /** Writes of all jobs that reached the server. */
  writes(): number {
    return [...this.jobs.values()].reduce((sum, { writes }) => sum + writes, 0);
  }

  /** The operator dies before its write of that number from now on; `lateMs`: that write reaches the server so much later. */
  dieAfter(writes: number, lateMs?: number): void {
    this.death = { afterWrites: this.writes() + writes, term: this.cluster.leaderTerm, lateMs };
  }

  tick(ms: number, finishes: readonly string[] = []): void {
    for (const [name, world] of this.jobs) world.tick(ms, finishes.includes(name));
    this.#audit();
  }

  /** Until that holds. Time passes faster while nothing is written. */
  until(isSo: () => boolean, ...names: readonly string[]): void {
    for (let rounds = 0; rounds < 500; rounds += 1) {
      if (isSo()) return;
      const before = this.writes();
      this.reconcile(...names);
      this.tick(this.writes() > before ? 1_000 : 10_000);
    }
    throw new Error(`it did not come: ${JSON.stringify(this.states())}`);
  }

  /** State of each job, by name. */
  states(): Readonly<Record<string, string | undefined>> {
    return Object.fromEntries([...this.jobs].map(([name, { job }]) => [name, job?.status?.state]));
  }

  /** The nodes of the first running job of lower priority. */
  #choose(job: TrainingJob, all: readonly TrainingJob[]): ClaimChoice {
    const named = new Set(
      all
        .flatMap(({ status }) => (status?.claim?.state === 'Ended' ? [] : (status?.claim?.victims ?? [])))
        .map(({ uid }) => uid),
    );
    for (const other of all) {
      const attempt = other.status?.attempts?.at(-1);
      const { uid, name, namespace = '' } = other.metadata;
      const placement = [...this.jobs.values()]
        .flatMap(({ placements }) => placements)
        .find(({ metadata }) => metadata.name === attempt?.placement);
      const isCandidate = priorityOf(other) < priorityOf(job) && attempt?.stage === 'Released' && !named.has(uid);
      if (!isCandidate || placement === undefined) continue;
      const { nodes, ranksPerPod = GPUS_PER_POD } = placement.spec;
      return {
        kind: 'claim',
        placement: { nodes, ranksPerPod },
        victims: [
          {
            uid,
            name,
            namespace,
            epoch: attempt.epoch,
            wayOut: 'Wait',
            priceGpuSeconds: 400,
            lostSeconds: 0,
            savesWhenAsked: true,
            deadlineSeconds: 60,
          },
        ],
        gainGpuSeconds: 4_000,
        expiresAfterSeconds: this.expiresAfterSeconds,
      };
    }
    return { kind: 'none', reason: 'no running job has a lower priority' };
  }

  /** The job trains, and has saved its 20th step. */
  train(name: string): void {
    this.until(() => (this.job(name).status?.progress?.step ?? 0) > 20, name);
    this.world(name).apply({ kind: 'saveCheckpoint', pick: 20 });
    this.reconcile(name);
  }

  /** What an auditor of the API server's log would find. */
  #audit(): void {
    const used = new Map<string, string[]>();
    const claims = [...this.jobs.values()].flatMap(({ history }) => history.flatMap(({ claim }) => claim ?? []));
    for (const [name, { job, pods }] of this.jobs) {
      const attempt = job?.status?.attempts?.at(-1);
      const made = attempt?.forClaim;
      const isNamed = claims.some(
        ({ epoch, state, victims }) =>
          epoch === made?.epoch &&
          state === 'Asking' &&
          victims.some((one) => one.uid === job?.metadata.uid && one.epoch === attempt?.epoch),
      );
      if (made !== undefined && !isNamed) this.#violate(`${name} made room for a claim that does not name it`);
      if (made !== undefined && attempt?.charged !== false) this.#violate(`${name} was charged for making room`);
      if (attempt?.stage !== 'Released') continue;
      for (const pod of pods) {
        const hasEnded = pod.phase === 'Succeeded' || pod.phase === 'Failed';
        if (pod.epoch !== attempt.epoch || pod.gated || hasEnded || pod.nodeName === undefined) continue;
        used.set(pod.nodeName, [...(used.get(pod.nodeName) ?? []), pod.name]);
      }
    }
    for (const [node, names] of used)
      if (names.length > 1) this.#violate(`${node} was given to ${names.join(' and ')}`);
  }

  #violate(sentence: string): void {
    if (!this.violations.includes(sentence)) this.violations.push(sentence);
  }

  /** Everything that was violated, with what the worlds found. */
  allViolations(): readonly string[] {
    return [...this.violations, ...[...this.jobs.values()].flatMap(({ violations }) => violations)];
  }
}
