import {
  gpusOfJob,
  type JobOutcome,
  type QueueCluster,
  type QueueJob,
  type QueuePromise,
  type StartedJob,
} from '../load/queue-job.ts';
import { CLAIM_VIOLATIONS, ClaimAuditor } from './claim-auditor.ts';

/** Kinds of broken invariants. */
export const VIOLATIONS = [
  'nodeGivenTwice',
  'promisedTwice',
  'promiseBroken',
  'promiseMovedLater',
  'starved',
  ...CLAIM_VIOLATIONS,
] as const;
/** One entry of {@link VIOLATIONS}. */
export type Violation = (typeof VIOLATIONS)[number];

/** What the auditor found. */
export interface AuditReport {
  readonly counts: Readonly<Record<Violation, number>>;
  /** The first of each kind, in a sentence. */
  readonly examples: readonly string[];
  /** For each job that had a promise and started: its first promise, and when it started, in milliseconds. */
  readonly promises: readonly KeptPromise[];
}

/** A first promise against the real start. */
export interface KeptPromise {
  readonly jobUid: string;
  readonly promisedAtMs: number;
  readonly promisedStartMs: number;
  readonly startMs: number;
}

/**
 * Watches a run by itself: it knows jobs, nodes and starts, and no rule. It checks that GPUs of a node are given once, that no node is promised
 * twice, that no job starts on nodes promised to another unless it is expected to end in time, that no start of another job moves a promise
 * later, and that no job waits beyond a bound while a smaller, younger one of at most its priority starts.
 */
export class QueueAuditor {
  readonly claims = new ClaimAuditor((kind, sentence) => this.#add(kind, sentence));
  readonly #cluster: QueueCluster;
  readonly #starvationMs: number;
  readonly #used: number[];
  readonly #counts: Record<Violation, number>;
  readonly #examples: string[] = [];
  /** Promises as last observed, by job. */
  #promises: ReadonlyMap<string, QueuePromise> = new Map();
  readonly #first = new Map<string, { readonly promisedAtMs: number; readonly promisedStartMs: number }>();

  constructor({ cluster, starvationMs }: { readonly cluster: QueueCluster; readonly starvationMs: number }) {
    this.#cluster = cluster;
    this.#starvationMs = starvationMs;
    this.#used = Array.from({ length: cluster.nodes }, () => 0);
    this.#counts = Object.fromEntries(VIOLATIONS.map((kind) => [kind, 0])) as Record<Violation, number>;
  }

  /** `work`: how much the job has still to train. */
  started({ job, nodes }: StartedJob, nowMs: number, work: WorkLeft = ALL): void {
    const isWrongCount = nodes.length !== job.pods || new Set(nodes).size !== nodes.length;
    if (isWrongCount) this.#add('nodeGivenTwice', `${job.uid} has ${job.pods} pods and got nodes ${nodes.join(', ')}`);
    for (const node of nodes) {
      const used = (this.#used[node] ?? Infinity) + job.gpusPerPod;
      this.#used[node] = used;
      if (used > this.#cluster.gpusPerNode)
        this.#add('nodeGivenTwice', `${job.uid} starts on node ${node}, which then has ${used} GPUs in use`);
    }
    this.#checkPromised({ job, nodes }, latestEndOf(job, nowMs, work));
    this.claims.started({ job, nodes }, nowMs);
  }

  ended({ job, nodes }: StartedJob): void {
    for (const node of nodes) this.#used[node] = (this.#used[node] ?? 0) - job.gpusPerPod;
  }

  /** Promises before a pass or after it. */
  observe(promises: readonly QueuePromise[], nowMs: number): void {
    for (const { jobUid, startMs } of promises)
      if (!this.#first.has(jobUid)) this.#first.set(jobUid, { promisedAtMs: nowMs, promisedStartMs: startMs });
    const nodes = promises.flatMap((promise) => promise.nodes);
    if (new Set(nodes).size !== nodes.length) {
      const twice = nodes.find((node, index) => nodes.indexOf(node) !== index);
      this.#add('promisedTwice', `node ${twice} is promised to two jobs`);
    }
    this.#promises = new Map(promises.map((promise) => [promise.jobUid, promise]));
  }

  /** Promises right after the start of a job: none may be later than before. */
  observeAfterStart(
    promises: readonly QueuePromise[],
    { by, nowMs }: { readonly by: QueueJob; readonly nowMs: number },
  ): void {
    for (const { jobUid, startMs, priority } of promises) {
      const before = this.#promises.get(jobUid)?.startMs;
      if (before !== undefined && startMs > before && !isAbove(by, priority))
        this.#add(
          'promiseMovedLater',
          `the start of ${by.uid} moved the promise to ${jobUid} from ${before} to ${startMs} ms`,
        );
    }
    this.observe(promises, nowMs);
  }

  report(outcomes: readonly JobOutcome[]): AuditReport {
    this.#checkStarvation(outcomes);
    this.claims.finish();
    const promises = outcomes.flatMap(({ job, startMs }) => {
      const first = this.#first.get(job.uid);
      return first === undefined || startMs === undefined ? [] : [{ jobUid: job.uid, ...first, startMs }];
    });
    return { counts: this.#counts, examples: this.#examples, promises };
  }

  /** A job of higher priority is not bound by promises to others. */
  #checkPromised({ job, nodes }: StartedJob, latestMs = Infinity): void {
    for (const promise of this.#promises.values()) {
      if (promise.jobUid === job.uid || latestMs <= promise.startMs || isAbove(job, promise.priority)) continue;
      const shared = promise.nodes.find((node) => nodes.includes(node));
      if (shared !== undefined)
        this.#add(
          'promiseBroken',
          `${job.uid} starts on node ${shared}, promised to ${promise.jobUid}, and may end after its start`,
        );
    }
  }

  #checkStarvation(outcomes: readonly JobOutcome[]): void {
    for (const { job, startMs = Infinity } of outcomes) {
      const fromMs = job.submitMs + this.#starvationMs;
      if (startMs <= fromMs) continue;
      const overtaker = outcomes.find(
        (other) =>
          other.startMs !== undefined &&
          other.startMs > fromMs &&
          other.startMs < startMs &&
          other.job.submitMs > job.submitMs &&
          other.job.priority <= job.priority &&
          gpusOfJob(other.job) < gpusOfJob(job),
      );
      if (overtaker !== undefined)
        this.#add(
          'starved',
          `${job.uid} of ${job.pods} pods waited while the younger ${overtaker.job.uid} of ${overtaker.job.pods} pods started`,
        );
    }
  }

  #add(kind: Violation, sentence: string): void {
    if (this.#counts[kind] === 0) this.#examples.push(`${kind}: ${sentence}`);
    this.#counts[kind] += 1;
  }
}

/** What a job that starts has still to do. */
interface WorkLeft {
  /** Time from its start to its first step, if that is no part of its run. */
  readonly delayMs: number;
  /** How long that takes on its present pods, as a share of the whole run on all pods: above 1 if it begins on fewer. */
  readonly share: number;
  /** It trained before, so its steps are measured. */
  readonly hasTrained: boolean;
}

const ALL: WorkLeft = { delayMs: 0, share: 1, hasTrained: false };

/** Milliseconds, at the latest; undefined: not known. A job that has trained is measured, so its end is known. */
function latestEndOf(
  { runMs, predicted }: QueueJob,
  nowMs: number,
  { delayMs, share, hasTrained }: WorkLeft,
): number | undefined {
  if (predicted === undefined) return undefined;
  return nowMs + delayMs + share * (hasTrained ? runMs : predicted.latestMs);
}

/** Whether a promise to a job of that priority does not bind this one. */
function isAbove({ priority }: QueueJob, promised: number | undefined): boolean {
  return promised !== undefined && priority > promised;
}
