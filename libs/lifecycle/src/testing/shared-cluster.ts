import type { Placement, TrainingJob } from '@coxswain/api-types';
import type { NodeFacts } from '@coxswain/fabric';
import { type AdmissionView, Admission } from '@coxswain/scheduling';
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
  /** The operator's caches show this job anew, as late as they are. */
  takeLook(): void;
  /** The operator's process is another one: it remembers nothing. */
  forgetProcess(): void;
}

/** Nodes that several jobs have in common, and the one process that leads: its admission sees all of them, each as late as its caches are. */
export class SharedCluster {
  readonly nodes: Map<string, NodeState>;
  admission: Admission;
  /** Another process leads with another term. */
  leaderTerm = 1;
  /** How often somebody looked for a place: each look of that kind asks once what is taken everywhere. */
  searches = 0;
  readonly #nodeFacts: Partial<NodeFacts>;
  readonly #members: Member[] = [];
  /** What admission was told last of each node. */
  #told = new Map<string, { readonly state: NodeState | undefined; readonly used: number }>();
  /** The job of each member as admission was told last. */
  #toldJobs = new Map<Member, TrainingJob | undefined>();
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
    this.admission = new Admission(this.#view());
  }

  join(member: Member): void {
    this.#members.push(member);
  }

  /** A pass over the member's job begins: the caches of all kinds show what they show by now. */
  look(member: Member): void {
    for (const one of this.#members) one.takeLook();
    this.#looking = member;
    this.tellAdmission();
  }

  /** What changed in the view since is told, as an informer would. */
  tellAdmission(): void {
    for (const member of this.#members) {
      const before = this.#toldJobs.get(member);
      const { job } = member.seen;
      this.#toldJobs.set(member, job);
      if (before !== undefined && before !== job) this.admission.jobChanged(before, job);
    }
    const used = this.#used();
    for (const name of this.nodes.keys()) {
      const told = this.#told.get(name);
      const now = { state: this.#looking?.seen.nodes.get(name), used: used.get(name) ?? 0 };
      this.#told.set(name, now);
      if (told?.state !== now.state) this.admission.nodeChanged(name);
      else if (told?.used !== now.used) this.admission.gpusChanged(name);
    }
  }

  /** The process that leads dies, and another one leads. */
  restart(): void {
    this.leaderTerm += 1;
    this.#told = new Map();
    this.#toldJobs = new Map();
    for (const member of this.#members) member.forgetProcess();
    this.admission = new Admission(this.#view());
  }

  #view(): AdmissionView {
    const node = (name: string): NodeFacts | undefined => {
      const state = this.#looking?.seen.nodes.get(name) ?? 'gone';
      return state === 'gone' ? undefined : aNode({ ...this.#nodeFacts, name, ready: state === 'ready' });
    };
    const jobs = (): readonly TrainingJob[] => this.#members.flatMap(({ seen }) => seen.job ?? []);
    return {
      monotonicMs: this.#monotonicMs,
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
