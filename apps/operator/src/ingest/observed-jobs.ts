/** Jobs of other controllers whose pods report. All of it is rebuilt from pods and reports, so it is kept in memory alone. */
import type { ObservedJob, ObserverReply, ObserverReport, PodStacks } from '@coxswain/api-types';
import type { GangRoster, HealthReport, StandingReport } from './health-reports.ts';
import type { HealthWatch } from './health-watch.ts';
import type { ObservedPod } from './observed-pod.ts';
import { FRESH_MS } from './observed-run.ts';
import { describeObservedJob, ObservedJobState } from './observed-job-state.ts';
import type { Gang, RendezvousMember } from './rendezvous.ts';
import type { StackRequests } from './stack-requests.ts';

/** Jobs that one operator follows, in all and of a namespace; more are not accepted. */
const MOST_JOBS = 2_000;
const MOST_JOBS_OF_NAMESPACE = 500;
/** How long a job without pods is shown. */
const KEPT_MS = 3_600_000;

/** What {@link ObservedJobs} is made of. */
interface ObservedJobsParts {
  /** Detectors of observed jobs alone. */
  readonly health: Pick<
    HealthWatch,
    'heartbeat' | 'step' | 'end' | 'forget' | 'takeReports' | 'takeStandings' | 'tick'
  >;
  readonly stacks: () => Pick<StackRequests, 'receive'>;
  readonly monotonicMs: () => number;
  readonly now: () => Date;
}

/** Why a report of a pod is not read. full: its job is one too many. */
export type ObserverRefusal = 'unknown' | 'full' | 'earlierAttempt';

/** Answer to a report: undefined if {@link ObserverRefusal} holds. */
type Reply = ObserverReply | undefined;

/** The observed jobs of the cluster. */
export class ObservedJobs {
  readonly #parts: ObservedJobsParts;
  readonly #jobs = new Map<string, ObservedJobState>();
  #refused = 0;
  #pods: ReadonlyMap<string, { readonly pod: ObservedPod; readonly key: string }> = new Map();
  /** Requests for stack traces that a pod has not received yet. */
  readonly #wanted = new Map<string, NonNullable<ObserverReply['stacksWanted']>>();

  constructor(parts: ObservedJobsParts) {
    this.#parts = parts;
  }

  /** Takes the labelled pods of the cluster as they are now. */
  replacePods(pods: readonly ObservedPod[]): void {
    const nowMs = this.#parts.monotonicMs();
    this.#pods = new Map(pods.map((pod) => [pod.uid, { pod, key: keyOf(pod) }]));
    const byKey = Map.groupBy(pods, keyOf);
    for (const [key, job] of this.#jobs) {
      if (job.setPods(byKey.get(key) ?? [], nowMs)) this.#parts.health.forget(key);
      if (nowMs - job.lastSeenMs >= KEPT_MS) this.#forget(key);
    }
    const isOver = (of: readonly ObservedPod[]): boolean => of.every((pod) => pod.isOver);
    // Jobs that run come first, and take the places of jobs that have ended.
    const added = [...byKey]
      .filter(([key]) => !this.#jobs.has(key))
      .toSorted(([, one], [, other]) => Number(isOver(one)) - Number(isOver(other)));
    this.#refused = 0;
    for (const [key, found] of added) {
      const job = this.#follow(key, found, isOver(found));
      if (job === undefined) this.#refused += 1;
      else job.setPods(found, nowMs);
    }
    for (const [key, job] of this.#jobs) if (job.isOver) this.#parts.health.end(key, job.run.run.epoch);
    for (const podUid of this.#wanted.keys()) if (!this.#pods.has(podUid)) this.#wanted.delete(podUid);
  }

  /** Jobs with pods that are not followed, because there are too many. */
  get refused(): number {
    return this.#refused;
  }

  /** Why a report of the pod would not be received; undefined: it would. */
  refusalOf(podUid: string): ObserverRefusal | undefined {
    const known = this.#pods.get(podUid);
    if (known === undefined) return 'unknown';
    const job = this.#jobs.get(known.key);
    if (job === undefined) return 'full';
    return known.pod.attempt < job.run.run.epoch ? 'earlierAttempt' : undefined;
  }

  /** Receives the report of a pod, whose identity was checked. */
  receive(podUid: string, report: ObserverReport): Reply {
    const known = this.#pods.get(podUid);
    const job = known && this.#jobs.get(known.key);
    if (known === undefined || job === undefined) return undefined;
    const nowMs = this.#parts.monotonicMs();
    const taken = job.receive(known.pod, report, { nowMs, wallMs: this.#parts.now().getTime() });
    if (taken === undefined) return undefined;
    const { run, ranks } = taken;
    const isOurs = ({ rank }: { readonly rank: number }): boolean => ranks.has(rank);
    const { health } = this.#parts;
    health.heartbeat(run, {
      ranks: report.ranks.filter(isOurs).map(({ rank, alive, step }) => ({ rank, alive, step })),
      watermarks: report.watermarks.filter(isOurs),
      processGroups: report.processGroups,
      processes: report.processes.filter(isOurs),
    });
    for (const step of report.steps) health.step(run, { ...step, ranks: step.ranks.filter(isOurs) });
    if (report.stacks !== undefined) this.#receiveStacks(job, podUid, report.stacks);
    const stacksWanted = this.#wanted.get(podUid);
    this.#wanted.delete(podUid);
    return stacksWanted === undefined ? {} : { stacksWanted };
  }

  /** For detectors and stack traces; undefined until the ranks of the run are known. */
  rosterOf(key: string): GangRoster | undefined {
    return this.#jobs.get(key)?.run.roster(this.#parts.monotonicMs());
  }

  /** The pods of the run that report, as launchers that can be asked for stack traces. */
  membersOf({ jobUid }: Gang): readonly RendezvousMember[] {
    const run = this.#jobs.get(jobUid)?.run;
    const nowMs = this.#parts.monotonicMs();
    const podUids = run?.podUids() ?? [];
    return podUids.flatMap((podUid, podIndex) => {
      const reported = run?.reportOf(podUid);
      if (reported === undefined || nowMs - reported.atMs > FRESH_MS) return [];
      const send: RendezvousMember['send'] = (message) => {
        if (message.kind !== 'stacksWanted') return;
        this.#wanted.set(podUid, { request: message.request, maxBytes: message.maxBytes });
      };
      return [{ podIndex, podUid, send, refuse: () => undefined, replace: () => undefined }];
    });
  }

  /** Advances time: detectors, and what each job does now. Called about once a second. */
  tick(): void {
    const { health } = this.#parts;
    health.tick();
    this.#take(health.takeReports(), health.takeStandings());
    const nowMs = this.#parts.monotonicMs();
    for (const job of this.#jobs.values()) job.tick(nowMs);
  }

  /** By namespace and name. */
  list(): readonly ObservedJob[] {
    const nowMs = this.#parts.monotonicMs();
    return [...this.#jobs]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, job]) => describeObservedJob(job, nowMs));
  }

  #receiveStacks(job: ObservedJobState, podUid: string, stacks: PodStacks): void {
    const { jobUid, epoch } = job.run.run;
    const podIndex = job.run.podUids().indexOf(podUid);
    if (podIndex >= 0) this.#parts.stacks().receive({ jobUid, epoch, podIndex }, stacks);
  }

  #take(reports: readonly HealthReport[], standings: readonly StandingReport[]): void {
    const at = this.#parts.now().toISOString();
    const nowMs = this.#parts.monotonicMs();
    for (const { jobUid, verdict } of reports) this.#jobs.get(jobUid)?.addFinding(verdict, at, nowMs);
    for (const report of standings) this.#jobs.get(report.jobUid)?.setStanding(report);
  }

  /** Undefined: there are too many jobs, and none that has ended can make room. */
  #follow(key: string, [pod]: readonly ObservedPod[], isOver: boolean): ObservedJobState | undefined {
    if (pod === undefined) return undefined;
    const { namespace, owner } = pod;
    const ofNamespace = [...this.#jobs.values()].filter((one) => one.namespace === namespace);
    const isNamespaceFull = ofNamespace.length >= MOST_JOBS_OF_NAMESPACE;
    if (isNamespaceFull || this.#jobs.size >= MOST_JOBS) {
      const ended = (isNamespaceFull ? ofNamespace : [...this.#jobs.values()]).filter((one) => one.isOver);
      const [oldest] = ended.toSorted((one, other) => one.lastSeenMs - other.lastSeenMs);
      if (isOver || oldest === undefined) return undefined;
      this.#forget(oldest.key);
    }
    const job = new ObservedJobState({ key, namespace, owner });
    this.#jobs.set(key, job);
    return job;
  }

  #forget(key: string): void {
    this.#jobs.delete(key);
    this.#parts.health.forget(key);
  }
}

function keyOf({ namespace, owner: { kind, name, uid } }: ObservedPod): string {
  return [namespace, name, kind, uid].join('/');
}
