/** Rules of other schedulers, on free GPUs of nodes without their places: first fit, strict FIFO, EASY, and Kueue's two orders. */
import type { QueueCluster, QueueJob, QueuePromise, StartedJob } from '../load/queue-job.ts';
import { NodePool } from './node-pool.ts';
import type { PassPorts, QueueRule } from './queue-rule.ts';
import { reservedAt } from './shadow.ts';

/** A job that runs, and since when. */
export interface RunningJob extends StartedJob {
  readonly startMs: number;
}

/** When a job is taken to end; `Infinity`: unknown. */
export type EndOf = (job: QueueJob, run: { readonly startMs: number; readonly nowMs: number }) => number;

/** What the rules have in common: the pool, who waits in the order of submission, and who runs. */
abstract class CountingRule implements QueueRule {
  protected readonly pool: NodePool;
  protected readonly waiting = new Set<QueueJob>();
  protected readonly running = new Map<string, RunningJob>();

  constructor(cluster: QueueCluster) {
    this.pool = new NodePool(cluster);
  }

  submitted(job: QueueJob): void {
    this.waiting.add(job);
  }

  ended({ job, nodes }: StartedJob): void {
    this.running.delete(job.uid);
    this.pool.give(nodes, job.gpusPerPod);
  }

  promisesOf(): readonly QueuePromise[] {
    return [];
  }

  pass(ports: PassPorts): void {
    ports.measure(() => this.startJobs(ports));
  }

  protected abstract startJobs(ports: PassPorts): void;

  protected startIfFits(job: QueueJob, ports: PassPorts, without?: ReadonlySet<number>): boolean {
    if (!this.pool.fits(job)) return false;
    const nodes = this.pool.find(job, without);
    if (nodes === undefined) return false;
    this.pool.take(nodes, job.gpusPerPod);
    this.waiting.delete(job);
    this.running.set(job.uid, { job, nodes, startMs: ports.nowMs });
    ports.started({ job, nodes });
    return true;
  }
}

/** Each job that fits starts, the oldest first. Nothing is held for a large gang. */
export class FirstFit extends CountingRule {
  protected startJobs(ports: PassPorts): void {
    for (const job of this.waiting) this.startIfFits(job, ports);
  }
}

/** The oldest starts; while it does not fit, it blocks all others. */
export class StrictFifo extends CountingRule {
  protected startJobs(ports: PassPorts): void {
    for (const job of this.waiting) if (!this.startIfFits(job, ports)) return;
  }
}

/**
 * EASY (Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995): the oldest that does not fit gets nodes from the earliest time at which enough are
 * free. Others start if they end before that, or on other nodes.
 */
export class EasyBackfill extends CountingRule {
  readonly #endOf: EndOf;

  constructor(cluster: QueueCluster, endOf: EndOf) {
    super(cluster);
    this.#endOf = endOf;
  }

  protected startJobs(ports: PassPorts): void {
    const queue = [...this.waiting];
    const blocked = queue.findIndex((job) => !this.startIfFits(job, ports));
    const head = queue[blocked];
    if (head === undefined) return;
    const behind = queue.slice(blocked + 1).filter((job) => this.pool.fits(job));
    if (behind.length > 0) this.#backfill(head, behind, ports);
  }

  #backfill(head: QueueJob, behind: readonly QueueJob[], ports: PassPorts): void {
    const { nowMs } = ports;
    const ends = [...this.running.values()].map((run) => ({
      ...run,
      endMs: Math.max(nowMs, this.#endOf(run.job, { startMs: run.startMs, nowMs })),
    }));
    const reserved = reservedAt(head, { free: this.pool.free(), ends });
    for (const job of behind) {
      const endMs = this.#endOf(job, { startMs: nowMs, nowMs });
      const endsInTime = reserved === undefined || endMs <= reserved.startMs;
      this.startIfFits(job, ports, endsInTime ? undefined : reserved.nodes);
    }
  }
}

/** Ends as they come. No real scheduler knows them. */
export const EXACT_ENDS: EndOf = ({ runMs }, { startMs }) => startMs + runMs;

const LEAST_ASSUMED_MS = 3_600_000;

/** Stated ends. A job past its latest end, or without a known one, is taken to run as long again as it has run, at least an hour. */
export const PREDICTED_ENDS: EndOf = ({ predicted }, { startMs, nowMs }) => {
  if (predicted !== undefined && nowMs < startMs + predicted.latestMs) return startMs + predicted.latestMs;
  return nowMs === startMs ? Infinity : nowMs + Math.max(LEAST_ASSUMED_MS, nowMs - startMs);
};

/**
 * Kueue 0.19: a ClusterQueue for each namespace, all in one cohort with equal quotas and borrowing without limit, no preemption. A cycle takes the
 * head of each queue, those within their quota first, then by age. With StrictFIFO a head that does not fit stays; with BestEffortFIFO it is set
 * aside until a job ends. Quota is taken to be free exactly if nodes are.
 */
export class KueueOrder extends CountingRule {
  readonly #isStrict: boolean;
  readonly #gpus: number;
  readonly #setAside = new Set<QueueJob>();
  readonly #usedBy = new Map<string, number>();

  constructor(cluster: QueueCluster, strategy: 'StrictFIFO' | 'BestEffortFIFO') {
    super(cluster);
    this.#isStrict = strategy === 'StrictFIFO';
    this.#gpus = cluster.nodes * cluster.gpusPerNode;
  }

  override submitted(job: QueueJob): void {
    super.submitted(job);
    if (!this.#usedBy.has(job.namespace)) this.#usedBy.set(job.namespace, 0);
  }

  override ended(started: StartedJob): void {
    super.ended(started);
    this.#use(started.job, -1);
    this.#setAside.clear();
  }

  protected startJobs(ports: PassPorts): void {
    for (let hasProgress = true; hasProgress;) {
      hasProgress = false;
      for (const head of this.#heads()) {
        const isStarted = this.startIfFits(head, ports);
        if (isStarted) this.#use(head, 1);
        else if (!this.#isStrict) this.#setAside.add(head);
        hasProgress ||= isStarted || !this.#isStrict;
      }
    }
  }

  #heads(): readonly QueueJob[] {
    const heads = new Map<string, QueueJob>();
    for (const job of this.waiting)
      if (!heads.has(job.namespace) && !this.#setAside.has(job)) heads.set(job.namespace, job);
    const borrows = (job: QueueJob): number => {
      const quota = this.#gpus / Math.max(1, this.#usedBy.size);
      return (this.#usedBy.get(job.namespace) ?? 0) + job.pods * job.gpusPerPod > quota ? 1 : 0;
    };
    return [...heads.values()].toSorted((one, other) => borrows(one) - borrows(other) || one.submitMs - other.submitMs);
  }

  #use(job: QueueJob, sign: 1 | -1): void {
    const gpus = sign * job.pods * job.gpusPerPod;
    this.#usedBy.set(job.namespace, (this.#usedBy.get(job.namespace) ?? 0) + gpus);
  }
}
