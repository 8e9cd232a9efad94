import { hasRanks, memberCount, ranksOfPod, type PreflightReport } from '@coxswain/api-types';
import type { ObservedPreflight } from '@coxswain/lifecycle';
import { trainerImageOf } from '@coxswain/runtime';
import { preflightOfGang, type ObservedPod } from '@coxswain/preflight';
import type { AddressedMessage } from '../ingest/ingest-messages.ts';
import type { NewestGang } from './launcher-controller.ts';
import type { PodPreflightReport } from '../ingest/session-ports.ts';

interface ReportsOfEpoch {
  readonly epoch: number;
  /** Reports by pod index. */
  readonly reports: Map<number, PreflightReport>;
  /** The judgement; final once made, because later reports are repetitions. */
  judged: ObservedPreflight | undefined;
}

/**
 * Judges the preflight of a gang once all pods have reported, or one of them skipped it. If no node is at fault, the launchers may start their ranks;
 * otherwise the attempt ends. State is in memory: launchers report again to a new leader, and start their ranks after a while without an answer.
 */
export class PreflightController {
  readonly #gangOf: (jobUid: string) => NewestGang | 'gone' | undefined;
  readonly #send: (message: AddressedMessage) => void;
  readonly #reports = new Map<string, ReportsOfEpoch>();

  constructor(parts: {
    /** The job's newest gang, as far as it is known. */
    readonly gangOf: (jobUid: string) => NewestGang | 'gone' | undefined;
    readonly send: (message: AddressedMessage) => void;
  }) {
    this.#gangOf = parts.gangOf;
    this.#send = parts.send;
  }

  /** Receives preflight reports. Returns the jobs whose gangs were judged. */
  receive(received: readonly PodPreflightReport[]): readonly string[] {
    for (const { jobUid, epoch, podIndex, report } of received) {
      const known = this.#reports.get(jobUid);
      if (known !== undefined && known.epoch > epoch) continue;
      const current = known?.epoch === epoch ? known : { epoch, reports: new Map(), judged: undefined };
      if (current.judged === undefined) current.reports.set(podIndex, report);
      this.#reports.set(jobUid, current);
    }
    const jobs = [...new Set(received.map(({ jobUid }) => jobUid))];
    const news = jobs.filter((jobUid) => this.#judge(jobUid));
    for (const jobUid of jobs) {
      // After the judgement only the reporting pods are answered. Answering all for each report would be quadratic in large gangs.
      const asking = news.includes(jobUid) ? undefined : received.filter((report) => report.jobUid === jobUid);
      this.#release(jobUid, asking);
    }
    return news;
  }

  /** The judgement of the newest attempt with reports. */
  ofJob(jobUid: string): ObservedPreflight | undefined {
    return this.#reports.get(jobUid)?.judged;
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#reports.delete(jobUid);
  }

  #judge(jobUid: string): boolean {
    const known = this.#reports.get(jobUid);
    const gang = this.#gangOf(jobUid);
    if (gang === 'gone') this.forget(jobUid);
    if (known === undefined || known.judged !== undefined || gang === undefined || gang === 'gone') return false;
    if (gang.attempt.epoch !== known.epoch) return false;
    // Runs for every report, so an incomplete gang must be cheap.
    const isSkipped = [...known.reports.values()].some(({ outcome }) => outcome === 'Skipped');
    if (!isSkipped && known.reports.size < gang.placement.nodes.length - (gang.attempt.standbys ?? 0)) return false;
    if (!isGangThere(gang, known.reports)) return false;
    const pods = podsOf(gang, known.reports);
    const avoidedNodes = (gang.job.status?.avoidedNodes ?? []).map(({ node }) => node);
    const image = trainerImageOf(gang.job.spec, gang.placement.runtime);
    known.judged = { epoch: known.epoch, ...preflightOfGang({ pods, avoidedNodes, image }) };
    known.reports.clear();
    return true;
  }

  /** Lets these pods, or every pod of the gang, start their ranks, unless a node is at fault. */
  #release(jobUid: string, asking: readonly PodPreflightReport[] | undefined): void {
    const judged = this.ofJob(jobUid);
    const gang = this.#gangOf(jobUid);
    if (judged === undefined || gang === undefined || gang === 'gone' || blamesMember(judged, gang)) return;
    const { epoch } = judged;
    const indices = new Set(asking?.filter((report) => report.epoch === epoch).map((report) => report.podIndex));
    for (const podIndex of asking === undefined ? gang.placement.nodes.keys() : indices) {
      const podUid = gang.podUidOf(podIndex);
      if (podUid !== undefined) this.#send({ jobUid, epoch, podUid, message: { kind: 'preflightDone', epoch } });
    }
  }
}

/**
 * Whether each pod with ranks has reported, or one of them skipped it. A standby that is late holds nothing up; what it measured counts if it is here.
 */
function isGangThere({ attempt, placement }: NewestGang, reports: ReadonlyMap<number, PreflightReport>): boolean {
  if (attempt.standbys === undefined) return true;
  const members = [...reports].filter(([podIndex]) => hasRanks(placement, podIndex));
  return members.length >= memberCount(placement) || members.some(([, { outcome }]) => outcome === 'Skipped');
}

/** Whether a node of a pod with ranks is at fault. One of a standby keeps no gang from starting. */
function blamesMember({ named }: ObservedPreflight, { placement }: NewestGang): boolean {
  return named.nodes.some((node) => hasRanks(placement, placement.nodes.indexOf(node)));
}

function podsOf({ placement }: NewestGang, reports: ReadonlyMap<number, PreflightReport>): ObservedPod[] {
  return placement.nodes.flatMap((node, podIndex) => {
    const report = reports.get(podIndex);
    return report === undefined ? [] : [{ podIndex, node, ranks: ranksOfPod(placement, podIndex).length, report }];
  });
}
