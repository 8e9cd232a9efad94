/** The ranks of one observed job: which process is which rank now, and when they have started again. */
import type { ObserverReport } from '@coxswain/api-types';
import { formatRanks } from '@coxswain/api-types';
import { ParallelLayout } from '@coxswain/layout';
import type { GangRoster, RunOfRanks } from './health-reports.ts';

/** A pod without a report for so long says nothing about now. */
export const FRESH_MS = 30_000;
/** So long the ranks of a run are awaited before it is judged without the missing ones. */
const GATHER_MS = 60_000;

/** What is kept of the newest report of one pod. A whole report may have 256 KiB. */
interface Reported {
  readonly node: string;
  readonly atMs: number;
  readonly bootId: string;
  readonly ranks: ObserverReport['ranks'];
  /** What its ranks do, each once. */
  readonly phases: readonly ObserverReport['watermarks'][number]['phase'][];
}

/** What a report changed. */
export interface TakenReport {
  readonly run: RunOfRanks;
  /** Ranks of the report that count. */
  readonly ranks: ReadonlySet<number>;
}

/** Follows the reports of one job. */
export class ObservedRun {
  readonly #jobUid: string;
  readonly #namespace: string;
  readonly #pods = new Map<string, Reported>();
  /** Pod and process of each rank. */
  readonly #holders = new Map<number, { readonly podUid: string; readonly process: string }>();
  #attempt = 0;
  #incarnation = 1;
  #beganAtMs: number | undefined;
  #worldSize: number | undefined;
  /** By pod: ranks that it claims while another pod has them. */
  readonly #contested = new Map<string, readonly number[]>();

  constructor({ jobUid, namespace }: { readonly jobUid: string; readonly namespace: string }) {
    this.#jobUid = jobUid;
    this.#namespace = namespace;
  }

  get run(): RunOfRanks {
    return { jobUid: this.#jobUid, epoch: this.#attempt, incarnation: this.#incarnation };
  }

  get worldSize(): number | undefined {
    return this.#worldSize;
  }

  /** Ranks that processes of two pods claim at the same time. */
  get contested(): readonly number[] {
    return [...new Set([...this.#contested.values()].flat())].toSorted((a, b) => a - b);
  }

  reportOf(podUid: string): Reported | undefined {
    return this.#pods.get(podUid);
  }

  /** Undefined: the pod is of an earlier attempt. */
  receive(
    pod: { readonly uid: string; readonly node: string; readonly attempt: number },
    report: ObserverReport,
    atMs: number,
  ): TakenReport | undefined {
    if (pod.attempt < this.#attempt) return undefined;
    if (pod.attempt > this.#attempt) this.#begin(pod.attempt, 1);
    const contested: number[] = [];
    for (const { rank, process, alive } of report.ranks) {
      const id = `${report.bootId} ${process}`;
      const holder = this.#holders.get(rank);
      if (!alive || holder?.process === id) continue;
      if (holder !== undefined && holder.podUid !== pod.uid && this.#holds(holder, rank, atMs)) contested.push(rank);
      else {
        // The first rank that starts again begins another run; the others follow.
        if (holder !== undefined) this.#begin(this.#attempt, this.#incarnation + 1);
        this.#holders.set(rank, { podUid: pod.uid, process: id });
      }
    }
    this.#beganAtMs ??= atMs;
    this.#contested.set(pod.uid, contested);
    const phases = [...new Set(report.watermarks.map(({ phase }) => phase))];
    this.#pods.set(pod.uid, { node: pod.node, atMs, bootId: report.bootId, ranks: report.ranks, phases });
    for (const { worldSize } of report.ranks) if (worldSize !== null) this.#worldSize = worldSize;
    return {
      run: this.run,
      ranks: new Set(report.ranks.map(({ rank }) => rank).filter((one) => this.#isOf(pod.uid, one))),
    };
  }

  /** The pod is gone. */
  remove(podUid: string): void {
    this.#pods.delete(podUid);
    this.#contested.delete(podUid);
  }

  /** No pod of a later attempt runs. */
  goBackTo(attempt: number): void {
    this.#begin(attempt, 1);
  }

  ranksOf(podUid: string): readonly number[] {
    return [...this.#holders]
      .flatMap(([rank, holder]) => (holder.podUid === podUid ? [rank] : []))
      .toSorted((a, b) => a - b);
  }

  /** Pods with ranks, in an order that stays as long as the run does. */
  podUids(): readonly string[] {
    return [...new Set([...this.#holders.values()].map(({ podUid }) => podUid))];
  }

  /** Undefined until every rank has reported, or has had its time. The layout is unknown: all ranks count as peers. */
  roster(nowMs: number): GangRoster | undefined {
    const size = this.#worldSize;
    const isGathered = this.#holders.size === size || nowMs - (this.#beganAtMs ?? nowMs) >= GATHER_MS;
    if (size === undefined || !isGathered || [...this.#holders.keys()].some((rank) => rank >= size)) return undefined;
    const nodes = this.podUids().map((podUid) => ({
      node: this.#pods.get(podUid)?.node ?? 'unknown',
      ranks: formatRanks(this.ranksOf(podUid)),
    }));
    const layout = ParallelLayout.parse({ dataParallelDegree: size });
    return { namespace: this.#namespace, epoch: this.#attempt, layout, nodes };
  }

  #begin(attempt: number, incarnation: number): void {
    this.#attempt = attempt;
    this.#incarnation = incarnation;
    this.#beganAtMs = undefined;
    this.#worldSize = undefined;
    this.#holders.clear();
  }

  #isOf(podUid: string, rank: number): boolean {
    return this.#holders.get(rank)?.podUid === podUid;
  }

  #holds(
    { podUid, process }: { readonly podUid: string; readonly process: string },
    rank: number,
    nowMs: number,
  ): boolean {
    const reported = this.#pods.get(podUid);
    if (reported === undefined || nowMs - reported.atMs > FRESH_MS) return false;
    const { bootId, ranks } = reported;
    return ranks.some((one) => one.rank === rank && one.alive && `${bootId} ${one.process}` === process);
  }
}
