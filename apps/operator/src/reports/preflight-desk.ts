import { ranksOfPod, type PreflightReport } from '@coxswain/api-types';
import type { ObservedPreflight } from '@coxswain/lifecycle';
import { trainerImageOf } from '@coxswain/runtime';
import { preflightOfGang, type ObservedPod } from '@coxswain/preflight';
import type { LauncherMail } from './ingest-messages.ts';
import type { NewestGang } from './launcher-desk.ts';
import type { PreflightWord } from './session-ports.ts';

interface ToldOfEpoch {
  readonly epoch: number;
  /** By the index of the pod. */
  readonly reports: Map<number, PreflightReport>;
  /** Once decided it stands: what is told later was told by ranks, or is told again. */
  judged: ObservedPreflight | undefined;
}

/**
 * What pods told of themselves before their first rank, and what came of it: once all of a gang have told, or one of them cannot look around. Nobody is
 * told then that ranks may start if somebody is named: the attempt ends. Held in memory: launchers tell a process that begins to lead in between again, and
 * those that nobody answers start their ranks after a while.
 */
export class PreflightDesk {
  readonly #gangOf: (jobUid: string) => NewestGang | 'gone' | undefined;
  readonly #send: (mail: LauncherMail) => void;
  readonly #told = new Map<string, ToldOfEpoch>();

  constructor(parts: {
    /** As far as it is seen at the moment. */
    readonly gangOf: (jobUid: string) => NewestGang | 'gone' | undefined;
    readonly send: (mail: LauncherMail) => void;
  }) {
    this.#gangOf = parts.gangOf;
    this.#send = parts.send;
  }

  /** Pods have told of themselves. Answers with the jobs whose gang is judged since. */
  hear(words: readonly PreflightWord[]): readonly string[] {
    for (const { jobUid, epoch, podIndex, report } of words) {
      const known = this.#told.get(jobUid);
      if (known !== undefined && known.epoch > epoch) continue;
      const told = known?.epoch === epoch ? known : { epoch, reports: new Map(), judged: undefined };
      if (told.judged === undefined) told.reports.set(podIndex, report);
      this.#told.set(jobUid, told);
    }
    const jobs = [...new Set(words.map(({ jobUid }) => jobUid))];
    const news = jobs.filter((jobUid) => this.#judge(jobUid));
    for (const jobUid of jobs) {
      // Whoever tells after that is answered alone: a gang of thousands that tell one by one would be thousands of answers for each.
      const asking = news.includes(jobUid) ? undefined : words.filter((word) => word.jobUid === jobUid);
      this.#release(jobUid, asking);
    }
    return news;
  }

  /** What came of it, of the newest epoch that was told of. */
  ofJob(jobUid: string): ObservedPreflight | undefined {
    return this.#told.get(jobUid)?.judged;
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#told.delete(jobUid);
  }

  #judge(jobUid: string): boolean {
    const told = this.#told.get(jobUid);
    const gang = this.#gangOf(jobUid);
    if (gang === 'gone') this.forget(jobUid);
    if (told === undefined || told.judged !== undefined || gang === undefined || gang === 'gone') return false;
    if (gang.attempt.epoch !== told.epoch) return false;
    const isWhole = told.reports.size >= gang.placement.nodes.length;
    // Asked with every report: of a gang of thousands that tell one by one, nothing is made of them before all have.
    if (!isWhole && ![...told.reports.values()].some(({ outcome }) => outcome === 'Skipped')) return false;
    const pods = podsOf(gang, told.reports);
    const avoidedNodes = (gang.job.status?.avoidedNodes ?? []).map(({ node }) => node);
    const image = trainerImageOf(gang.job.spec, gang.placement.runtime);
    told.judged = { epoch: told.epoch, ...preflightOfGang({ pods, avoidedNodes, image }) };
    told.reports.clear();
    return true;
  }

  /** To these pods, or to every pod of the gang, also to those that wait for one that cannot look around. */
  #release(jobUid: string, asking: readonly PreflightWord[] | undefined): void {
    const judged = this.ofJob(jobUid);
    const gang = this.#gangOf(jobUid);
    if (judged === undefined || judged.named.nodes.length > 0 || gang === undefined || gang === 'gone') return;
    const { epoch } = judged;
    const indices = new Set(asking?.filter((word) => word.epoch === epoch).map((word) => word.podIndex));
    for (const podIndex of asking === undefined ? gang.placement.nodes.keys() : indices) {
      const podUid = gang.podUidOf(podIndex);
      if (podUid !== undefined) this.#send({ jobUid, epoch, podUid, message: { kind: 'preflightDone', epoch } });
    }
  }
}

function podsOf({ placement }: NewestGang, reports: ReadonlyMap<number, PreflightReport>): ObservedPod[] {
  return placement.nodes.flatMap((node, podIndex) => {
    const report = reports.get(podIndex);
    return report === undefined ? [] : [{ podIndex, node, ranks: ranksOfPod(placement, podIndex).length, report }];
  });
}
