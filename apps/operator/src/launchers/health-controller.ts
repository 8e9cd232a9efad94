/** What follows from what detectors found of a gang: who is kept away from, and what people are told? */
import type { IncidentKind, TrainingJob } from '@coxswain/api-types';
import type { Finding, Verdict as NamedCulprit } from '@coxswain/lifecycle';
import { isLater } from '../ingest/progress-tracker.ts';
import type { HealthReport } from '../ingest/health-watch.ts';

/** Beyond as many nodes at once, and a tenth of the gang, a common cause is likelier than so many bad nodes. */
const MOST_NODES = 4;
const MOST_SHARE = 0.1;
/** Gangs of a job that are ended in a day because somebody of them was slow; a job that is still slow has another cause. */
const MOST_SLOW_A_DAY = 3;

/** Findings kept of one run, newest last. */
const MAX_FINDINGS = 16;

/** Which incident a verdict is; of silence nobody knows whether anything is wrong, so that it is told, and is none. */
const INCIDENT_OF: Readonly<Record<HealthReport['verdict']['kind'], IncidentKind | undefined>> = {
  hang: 'Hang',
  networkHang: 'NetworkHang',
  desync: 'Desync',
  blind: undefined,
  slowRank: 'SlowRank',
  slowLink: 'SlowLink',
  slowJob: 'SlowJob',
  stageImbalance: 'Imbalance',
  expertImbalance: 'Imbalance',
  sequenceImbalance: 'Imbalance',
  collectionPauses: 'CollectionPauses',
  hostDataStall: 'DataStall',
  sharedDataStall: 'DataStall',
  badLoss: 'BadLoss',
};

type Known = Pick<HealthReport, 'epoch' | 'incarnation'> & {
  readonly culprits: readonly NamedCulprit[];
  readonly findings: readonly Finding[];
};

/**
 * Verdicts of the newest run of each job. In memory: whoever leads next finds the same again, and what was done about it is recorded with the
 * attempt.
 */
export class HealthController {
  readonly #known = new Map<string, Known>();
  readonly #warn: (report: HealthReport) => void;
  readonly #nodesOf: (jobUid: string) => number;
  readonly #knowsPhases: (jobUid: string) => boolean;
  readonly #condemnedToday: (jobUid: string) => number;
  readonly #now: () => Date;

  constructor(parts: {
    readonly now: () => Date;
    /** For people, of what is no incident: each verdict once. */
    readonly warn: (report: HealthReport) => void;
    /** Nodes of the job's newest gang. */
    readonly nodesOf: (jobUid: string) => number;
    /** Whether the hook can tell when the job's engine saves, evaluates or compiles. */
    readonly knowsPhases: (jobUid: string) => boolean;
    /** How many gangs of the job were ended in the last day because somebody of them was to blame, as its status records. */
    readonly condemnedToday: (jobUid: string) => number;
  }) {
    this.#condemnedToday = parts.condemnedToday;
    this.#now = parts.now;
    this.#knowsPhases = parts.knowsPhases;
    this.#warn = parts.warn;
    this.#nodesOf = parts.nodesOf;
  }

  /** Answers with the jobs that are to be looked at for it. */
  receive(reports: readonly HealthReport[]): readonly string[] {
    const news = new Set<string>();
    for (const report of reports.map(withNode)) {
      const { jobUid, epoch, incarnation } = report;
      const known = this.#known.get(jobUid);
      if (known !== undefined && isLater(known, report)) continue;
      const finding = findingOf(report, this.#now());
      if (finding === undefined) {
        this.#warn(report);
        continue;
      }
      const before = known !== undefined && !isLater(report, known) ? known : { culprits: [], findings: [] };
      const culprits = [...before.culprits, ...this.#culpritsOf(report)];
      const findings = [...before.findings, finding].slice(-MAX_FINDINGS);
      this.#known.set(jobUid, { epoch, incarnation, culprits, findings });
      news.add(jobUid);
    }
    return [...news];
  }

  ofJob(job: TrainingJob): readonly NamedCulprit[] {
    return this.#known.get(job.metadata.uid)?.culprits ?? [];
  }

  /** All that was found of the newest run, whether or not somebody is to be kept away from for it. */
  findingsOf(job: TrainingJob): readonly Finding[] {
    return this.#known.get(job.metadata.uid)?.findings ?? [];
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#known.delete(jobUid);
  }

  /** A rank that others wait for is ended with its gang, and its node kept away from, where few are to blame. A hang of the network, or of the program, ends the gang alone. */
  #culpritsOf({ jobUid, epoch, incarnation, verdict }: HealthReport): readonly NamedCulprit[] {
    const { action, kind, ranks, nodes, message } = verdict;
    const about = { epoch, incarnation, message };
    const named = ranks.map((rank): NamedCulprit => ({ ...about, about: { kind: 'rank', rank } }));
    const most = Math.max(MOST_NODES, MOST_SHARE * this.#nodesOf(jobUid));
    const isMany = (nodes.length === 0 ? ranks.length : nodes.length) > most;
    // What makes many slow is no node, and the job goes on: it is told, and nothing ends.
    if (kind === 'slowRank') {
      return action === 'evict' && !isMany && this.#condemnedToday(jobUid) < MOST_SLOW_A_DAY ? named : [];
    }
    // A loss may be bad for a step; whether to go on from it is its user's to say.
    if (kind === 'badLoss') return [];
    if (action === 'stop') return [{ ...about, about: { kind: 'gang' } }];
    // Of an engine that does not say in what it waits nobody knows whether it trains, saves or evaluates: that its steps do not come ends nothing.
    if (action !== 'evict' || verdict.evidence['waitedForMs'] === undefined) return [];
    // A rank that says that it lives may evaluate in words that no hook knows, while the others wait at a barrier for minutes, and all is well.
    if (verdict.evidence['cause'] === 'rankMissing' && !this.#knowsPhases(jobUid)) return [];
    return ranks.length === 0 || isMany ? [{ ...about, about: { kind: 'gang' } }] : named;
  }
}

/** As an incident, where it is one. */
function findingOf({ epoch, incarnation, verdict, operations }: HealthReport, now: Date): Finding | undefined {
  const kind = INCIDENT_OF[verdict.kind];
  if (kind === undefined) return undefined;
  const { ranks, node, group, message, evidence, action, confidence } = verdict;
  const costMsPerStep = costOf(verdict);
  return {
    epoch,
    incarnation,
    kind,
    noticedAt: now.toISOString(),
    ranks,
    ...(node === undefined ? {} : { node }),
    ...(group === undefined ? {} : { group }),
    message,
    evidence: { ...evidence, confidence },
    ...(operations === undefined || operations.length === 0 ? {} : { operations }),
    ...(costMsPerStep === undefined ? {} : { costMsPerStep }),
    ...(action === 'none' ? { isHarmless: true } : {}),
  };
}

/** A step is as long as its slowest rank, so what that computes longer than its peers is what each step lost. */
function costOf({ kind, evidence }: HealthReport['verdict']): number | undefined {
  const { computeMs, stepMs, usualMs, usualStepMs } = evidence;
  const ms = kind === 'slowRank' ? Number(computeMs) - Number(usualMs) : Number(stepMs) - Number(usualStepMs);
  return (kind === 'slowRank' || kind === 'slowJob') && ms > 0 ? ms : undefined;
}

/** The node is said where there is one, and it may be to blame: people look there. */
function withNode(report: HealthReport): HealthReport {
  const { verdict } = report;
  if (verdict.node === undefined || verdict.kind === 'desync') return report;
  return { ...report, verdict: { ...verdict, message: `${verdict.message} Node ${verdict.node}.` } };
}
