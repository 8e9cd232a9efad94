import { MAX_TRAINED_DIFFERENCES } from '@coxswain/api-types';
import { trainedDifferences, trainedSentence } from '@coxswain/engines';
import type { ObservedTrained } from '@coxswain/lifecycle';
import type { NewestGang } from './launcher-controller.ts';
import type { PodTrainedReport } from '../ingest/session-ports.ts';

/** Pods of an incarnation that are listened to: what a layout says is said of all, and a gang may have thousands. */
const MAX_PODS = 16;

interface FactsOfRun {
  readonly epoch: number;
  readonly incarnation: number;
  /** The first word of each pod: whoever says something else each second changes nothing. */
  readonly reports: Map<number, PodTrainedReport>;
}

/**
 * What ranks really train, held against the layout of their gang. In memory: launchers say it again to a process that begins to lead, and what was found is
 * recorded with the attempt.
 */
export class TrainedFactsController {
  readonly #gangOf: (jobUid: string) => NewestGang | 'gone' | undefined;
  readonly #runs = new Map<string, FactsOfRun>();

  constructor(parts: {
    /** As far as it is seen at the moment. */
    readonly gangOf: (jobUid: string) => NewestGang | 'gone' | undefined;
  }) {
    this.#gangOf = parts.gangOf;
  }

  /** Pods have told. Answers with the jobs of which more is known since. */
  receive(reports: readonly PodTrainedReport[]): readonly string[] {
    const news = reports.filter((report) => this.#take(report));
    return [...new Set(news.map(({ jobUid }) => jobUid))];
  }

  /** What was found of the newest run that was told of; undefined where nothing was, or the gang is not seen yet. */
  ofJob(jobUid: string): ObservedTrained | undefined {
    const run = this.#runs.get(jobUid);
    const gang = this.#gangOf(jobUid);
    if (gang === 'gone') this.forget(jobUid);
    if (run === undefined || gang === undefined || gang === 'gone') return undefined;
    const { epoch, incarnation, reports } = run;
    if (gang.attempt.epoch !== epoch) return undefined;
    const ordered = [...reports.values()].toSorted((one, other) => one.podIndex - other.podIndex);
    const all = ordered.flatMap(({ rank, facts }) => trainedDifferences(gang.attempt.layout, rank, facts));
    const [first] = reports.values();
    const seen = first === undefined ? {} : { seen: trainedSentence(first.rank, first.facts) };
    return { epoch, incarnation, ...seen, differences: all.slice(0, MAX_TRAINED_DIFFERENCES) };
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#runs.delete(jobUid);
  }

  #take(report: PodTrainedReport): boolean {
    const { jobUid, epoch, incarnation, podIndex } = report;
    if (this.#gangOf(jobUid) === 'gone') return false;
    const known = this.#runs.get(jobUid);
    const isLater =
      known === undefined || epoch > known.epoch || (epoch === known.epoch && incarnation > known.incarnation);
    if (isLater) {
      this.#runs.set(jobUid, { epoch, incarnation, reports: new Map([[podIndex, report]]) });
      return true;
    }
    const isSame = epoch === known.epoch && incarnation === known.incarnation;
    if (!isSame || known.reports.has(podIndex) || known.reports.size >= MAX_PODS) return false;
    known.reports.set(podIndex, report);
    return true;
  }
}
