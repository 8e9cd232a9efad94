import type { Placement, TrainingJob } from '@coxswain/api-types';
import type { NodeFacts } from '@coxswain/fabric';
import {
  type PriorityClassFacts,
  type SchedulerView,
  ClusterScheduler,
  type ClaimChoice,
  type GangRequest,
} from '@coxswain/scheduling';
import { EndArbiter } from '../arbiter/end-arbiter.ts';
import { type ClaimOnJob, standingClaim } from '../observation/claims.ts';
import type { NodeState, ObservedPod } from '../observation/observed.ts';
import { aNode } from './builders.ts';

/** GPUs that each pod of these worlds takes. */
export const GPUS_PER_POD = 2;

/** What an operator's caches show of one job. */
export interface SeenJob {
  readonly job: TrainingJob | undefined;
  readonly pods: readonly ObservedPod[];
  readonly placements: readonly Placement[];
  readonly nodes: ReadonlyMap<string, NodeState>;
}

/** A world whose job is in this cluster. */
export interface Member {
  readonly seen: SeenJob;
  /** The operator reads the job from the API server. */
  readLiveJob(): void;
  /** The operator's caches show this job anew, as late as they are. */
  refreshCaches(): void;
  /** The operator's process is another one: it remembers nothing. */
  forgetProcess(): void;
}

/** Nodes that several jobs share, and the process that leads. Its scheduler sees every job, each as late as its caches are. */
export class SharedCluster {
  readonly nodes: Map<string, NodeState>;
  scheduler: ClusterScheduler;
  arbiter: EndArbiter;
  /** Which running jobs may make room for a waiting one; undefined: none is asked. */
  makeRoom: ((job: TrainingJob, request: GangRequest) => ClaimChoice) | undefined;
  priorityClasses: readonly PriorityClassFacts[] | undefined;
  /** Another process leads with another term. */
  leaderTerm = 1;
  /** Number of searches for a place: each search asks once for the GPUs under pods of every node. */
  searches = 0;
  readonly #nodeFacts: Partial<NodeFacts>;
  readonly #members: Member[] = [];
  /** State of each node as last reported to the scheduler. */
  #reported = new Map<string, { readonly state: NodeState | undefined; readonly used: number }>();
  /** Job of each member as last reported to the scheduler. */
  #reportedJobs = new Map<Member, TrainingJob | undefined>();
  #looking: Member | undefined;
  readonly #monotonicMs: () => number;

  constructor(parts: {
    readonly nodes: readonly string[];
    /** Those of every node, beside its name and state. */
    readonly nodeFacts: Partial<NodeFacts>;
    readonly monotonicMs: () => number;
  }) {
    this.nodes = new Map(parts.nodes.map((name) => [name, 'ready']));
    this.#nodeFacts = parts.nodeFacts;
    this.#monotonicMs = parts.monotonicMs;
    this.scheduler = new ClusterScheduler(this.#view());
    this.arbiter = this.#newArbiter();
  }

  #newArbiter(): EndArbiter {
    const jobs = (): readonly TrainingJob[] => this.#members.flatMap(({ seen }) => seen.job ?? []);
    return new EndArbiter({ jobs, now: () => new Date(this.#monotonicMs()) });
  }

  join(member: Member): void {
    this.#members.push(member);
  }

  /** Begins to reconcile the member's job: the caches of all kinds show their present content. */
  beginReconcile(member: Member): void {
    for (const one of this.#members) one.refreshCaches();
    this.#looking = member;
    this.updateScheduler();
  }

  /** Reports what has changed in the view to the scheduler, as an informer would. */
  updateScheduler(): void {
    for (const member of this.#members) {
      const before = this.#reportedJobs.get(member);
      const { job } = member.seen;
      this.#reportedJobs.set(member, job);
      if (before !== undefined && before !== job) this.scheduler.jobChanged(before, job);
    }
    const used = this.#used();
    for (const name of this.nodes.keys()) {
      const reported = this.#reported.get(name);
      const now = { state: this.#looking?.seen.nodes.get(name), used: used.get(name) ?? 0 };
      this.#reported.set(name, now);
      if (reported?.state !== now.state) this.scheduler.nodeChanged(name);
      else if (reported?.used !== now.used) this.scheduler.gpusChanged(name);
    }
  }

  /** The jobs as the operator's caches show them. */
  jobs(): readonly TrainingJob[] {
    return this.#members.flatMap(({ seen }) => seen.job ?? []);
  }

  claimsOn(jobUid: string): readonly ClaimOnJob[] {
    return this.jobs().flatMap(({ metadata: { uid, name, namespace = '' }, status }) => {
      const claim = standingClaim({ claim: status?.claim });
      const isNamed = claim?.victims.some((victim) => victim.uid === jobUid) === true;
      return isNamed ? [{ job: { uid, name, namespace }, priority: status?.priority?.value ?? 0, claim }] : [];
    });
  }

  /** The operator reads these jobs from the API server. */
  readLive(uids: readonly string[]): void {
    for (const member of this.#members) if (uids.includes(member.seen.job?.metadata.uid ?? '')) member.readLiveJob();
  }

  /** The process that leads dies, and another one leads. */
  restart(): void {
    this.leaderTerm += 1;
    this.#reported = new Map();
    this.#reportedJobs = new Map();
    for (const member of this.#members) member.forgetProcess();
    this.scheduler = new ClusterScheduler(this.#view());
    this.arbiter = this.#newArbiter();
  }

  #view(): SchedulerView {
    const node = (name: string): NodeFacts | undefined => {
      const state = this.#looking?.seen.nodes.get(name) ?? 'gone';
      return state === 'gone' ? undefined : aNode({ ...this.#nodeFacts, name, ready: state === 'ready' });
    };
    const jobs = (): readonly TrainingJob[] => this.#members.flatMap(({ seen }) => seen.job ?? []);
    return {
      monotonicMs: this.#monotonicMs,
      now: () => new Date(this.#monotonicMs()),
      nodes: () => [...this.nodes.keys()].flatMap((name) => node(name) ?? []),
      node,
      reserve: () => undefined,
      gpusUnderPods: (name) => this.#used().get(name) ?? 0,
      gpusUnderPodsByNode: () => {
        this.searches += 1;
        return this.#used();
      },
      jobs,
      job: (uid) => jobs().find(({ metadata }) => metadata.uid === uid),
      placements: () => this.#members.flatMap(({ seen }) => seen.placements),
      settledPods: ({ metadata }) => {
        const pods = this.#members.find(({ seen }) => seen.job?.metadata.uid === metadata.uid)?.seen.pods ?? [];
        return new Set(pods.filter((pod) => pod.nodeName !== undefined || hasEnded(pod)).map(({ name }) => name));
      },
      hasPod: ({ metadata }, podName) => {
        const pods = this.#members.find(({ seen }) => seen.job?.metadata.uid === metadata.uid)?.seen.pods ?? [];
        return pods.some(({ name }) => name === podName);
      },
    };
  }

  #used(): Map<string, number> {
    const used = new Map<string, number>();
    for (const pod of this.#members.flatMap(({ seen }) => seen.pods)) {
      if (pod.nodeName === undefined || hasEnded(pod)) continue;
      used.set(pod.nodeName, (used.get(pod.nodeName) ?? 0) + GPUS_PER_POD);
    }
    return used;
  }
}

function hasEnded({ phase }: ObservedPod): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}
