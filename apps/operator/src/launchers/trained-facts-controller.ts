import { MAX_TRAINED_DIFFERENCES } from '@coxswain/api-types';
import { trainedDifferences, trainedSentence } from '@coxswain/engines';
import type { ObservedTrained } from '@coxswain/lifecycle';
import type { NewestGang } from './launcher-controller.ts';
import type { PodTrainedReport } from '../ingest/session-ports.ts';

/** Pods of an incarnation whose reports are compared. A layout applies to all pods, and a gang may have thousands. */
const MAX_PODS = 16;

interface FactsOfRun {
  readonly epoch: number;
  readonly incarnation: number;
  /** The first report of each pod; later ones are ignored. */
  readonly reports: Map<number, PodTrainedReport>;
}

/**
 * Compares what ranks train with the layout of their gang. State is in memory: launchers repeat their reports to a new leader, and differences are recorded
 * with the attempt.
 */
export class TrainedFactsController {
  readonly #gangOf: (jobUid: string) => NewestGang | 'gone' | undefined;
  readonly #runs = new Map<string, FactsOfRun>();

  constructor(parts: {
    /** The job's newest gang, as far as it is known. */
    readonly gangOf: (jobUid: string) => NewestGang | 'gone' | undefined;
  }) {
    this.#gangOf = parts.gangOf;
  }

  /** Receives reports. Returns the jobs with new facts. */
  receive(reports: readonly PodTrainedReport[]): readonly string[] {
    const news = reports.filter((report) => this.#take(report));
    return [...new Set(news.map(({ jobUid }) => jobUid))];
  }

  /** Differences of the newest run with reports; undefined without reports or while the gang is unknown. */
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

  /** Drops the state of a deleted job. */
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
