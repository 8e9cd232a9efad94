/** Which incidents, avoided nodes and warnings follow from the verdicts about a gang? */
import type { IncidentKind, TrainingJob } from '@coxswain/api-types';
import { areMany, type Naming, namingOf, refutationOf } from '@coxswain/health';
import type { Finding, ObservedStanding, Verdict as NamedCulprit } from '@coxswain/lifecycle';
import { isLater } from '../ingest/progress-tracker.ts';
import type { HealthReport, RunEvidence, StandingReport } from '../ingest/health-reports.ts';

/** Gangs of a job that are ended for slow ranks in a day; a job that is still slow has another cause. */
const MOST_SLOW_A_DAY = 3;

/** Findings kept of one run, newest last: so many on which early saves stand, and so many others. */
const MAX_FINDINGS = 16;
const SAVE_KINDS: readonly IncidentKind[] = ['SlowRank', 'SlowLink'];

/** The incident of each verdict. Lost telemetry is only a warning, because the ranks may be healthy. */
const INCIDENT_OF: Readonly<Record<HealthReport['verdict']['kind'], IncidentKind | undefined>> = {
  hang: 'Hang',
  networkHang: 'NetworkHang',
  desync: 'Desync',
  notTraining: 'NotTraining',
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
  brokenSave: 'CheckpointTrouble',
};

type Known = Pick<HealthReport, 'epoch' | 'incarnation'> & {
  /** Newest verdict of each kind about the same ranks that may end the gang. As many as the gang has ranks at most. */
  readonly deciding: ReadonlyMap<string, HealthReport>;
  /** When each of them was received, in milliseconds since 1970. */
  readonly receivedAtMs: ReadonlyMap<string, number>;
  /** What verdicts named, by kind and nodes. */
  readonly namings: ReadonlyMap<string, Naming>;
  readonly findings: readonly Finding[];
  /** When what they stand on was read last, in milliseconds since 1970; absent: never. */
  readonly readAtMs?: number;
  /** Its detectors have ended, so what they stand on cannot be read again. */
  readonly isLost?: boolean;
};

/** If the evidence of a verdict cannot be read, it is tried again after this time. */
const UNREAD_MS = 10_000;
const UNREAD = 'what it stands on cannot be read again at the moment; Coxswain tries again';

const LOST =
  'its detectors have ended, so what it stands on cannot be read again before its next start: if it makes no progress, suspend and resume the job';

/** A wait that its rank reports as longer counts as this long. */
const MAX_WAIT_MS = 86_400_000;

const NOTHING_KNOWN = { receivedAtMs: new Map(), deciding: new Map(), namings: new Map(), findings: [] } as const;

/**
 * Verdicts of the newest run of each job. State is in memory: the next leader finds the same again, and actions are recorded with the attempt.
 */
export class HealthController {
  readonly #known = new Map<string, Known>();
  /** Where the newest run of each job stands, if it does not train. */
  readonly #standings = new Map<string, ObservedStanding>();
  /** Until when verdicts of a job are held because their evidence could not be read, in milliseconds since 1970. */
  readonly #unreadUntilMs = new Map<string, number>();
  readonly #warn: (report: HealthReport) => void;
  readonly #nodesOf: (jobUid: string) => number;
  readonly #knowsPhases: (jobUid: string) => boolean;
  readonly #slowEndsToday: (jobUid: string) => number;
  readonly #now: () => Date;

  constructor(parts: {
    readonly now: () => Date;
    /** Warns users of a verdict that is no incident; called once for each verdict. */
    readonly warn: (report: HealthReport) => void;
    /** Number of nodes of the job's newest gang. */
    readonly nodesOf: (jobUid: string) => number;
    /** Whether the hook recognizes when the job's engine saves, evaluates or compiles. */
    readonly knowsPhases: (jobUid: string) => boolean;
    /** Gangs of the job that ended for slow ranks in the last day, according to its status. */
    readonly slowEndsToday: (jobUid: string) => number;
  }) {
    this.#slowEndsToday = parts.slowEndsToday;
    this.#now = parts.now;
    this.#knowsPhases = parts.knowsPhases;
    this.#warn = parts.warn;
    this.#nodesOf = parts.nodesOf;
  }

  /** Receives verdicts. Returns the jobs to reconcile. */
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
      const nowMs = this.#now().getTime();
      const before = known !== undefined && !isLater(report, known) ? known : NOTHING_KNOWN;
      this.#known.set(jobUid, {
        ...before,
        epoch,
        incarnation,
        deciding: withDeciding(before.deciding, report),
        receivedAtMs: mayEnd(report)
          ? new Map([...before.receivedAtMs, [verdictKey(report), nowMs]])
          : before.receivedAtMs,
        namings: withNaming(before.namings, report),
        findings: newestFindings([...before.findings, finding]),
      });
      news.add(jobUid);
    }
    return [...news];
  }

  /** Ranks or gangs to act on, from verdicts about the job's newest run. */
  ofJob(job: TrainingJob): readonly NamedCulprit[] {
    const known = this.#known.get(job.metadata.uid);
    if (known === undefined) return [];
    const isUnread = this.#now().getTime() < (this.#unreadUntilMs.get(job.metadata.uid) ?? 0);
    const whyHeld = known.isLost === true ? LOST : isUnread ? UNREAD : undefined;
    return [...known.deciding.values()].flatMap((report) => {
      const receivedAtMs = known.receivedAtMs.get(verdictKey(report)) ?? this.#now().getTime();
      const ground = {
        ...groundOf(report, receivedAtMs),
        readAt: new Date(Math.max(receivedAtMs, known.readAtMs ?? 0)).toISOString(),
        ...(whyHeld === undefined ? {} : { held: whyHeld }),
      };
      return this.#culpritsOf(report, known).map((culprit) => ({ ...culprit, ...ground }));
    });
  }

  /** All findings about the newest run, whether or not a node is avoided for them. */
  findingsOf(job: TrainingJob): readonly Finding[] {
    return this.#known.get(job.metadata.uid)?.findings ?? [];
  }

  /** Receives where runs stand. Returns the jobs to reconcile. */
  receiveStandings(reports: readonly StandingReport[]): readonly string[] {
    return reports.flatMap(({ jobUid, epoch, incarnation, standing }) => {
      const known = this.#standings.get(jobUid);
      if (known !== undefined && isLater(known, { epoch, incarnation })) return [];
      if (standing === null) return this.#standings.delete(jobUid) ? [jobUid] : [];
      this.#standings.set(jobUid, { epoch, incarnation, ...standing });
      return [jobUid];
    });
  }

  /** Where the job's newest run stands; undefined: it trains, or it is unknown. */
  standingOf(job: TrainingJob): ObservedStanding | undefined {
    return this.#standings.get(job.metadata.uid);
  }

  /** Ranks on which verdicts about the job's newest run stand. */
  ranksInQuestion(jobUid: string): readonly number[] {
    const deciding = this.#known.get(jobUid)?.deciding.values() ?? [];
    return [...new Set([...deciding].flatMap(({ verdict }) => verdict.ranks))];
  }

  /** Drops the verdicts about a run that its newer progress refutes. `evidence` undefined: it could not be read, and nothing is done for a while. */
  receiveEvidence(jobUid: string, evidence: RunEvidence | undefined): void {
    const known = this.#known.get(jobUid);
    if (known === undefined) return;
    const now = this.#now();
    const readAtMs = now.getTime();
    const isOfRun = evidence?.epoch === known.epoch && evidence.incarnation === known.incarnation;
    if (evidence === undefined || !isOfRun) {
      this.#unreadUntilMs.set(jobUid, readAtMs + UNREAD_MS);
      this.#known.set(jobUid, { ...known, readAtMs });
      return;
    }
    this.#unreadUntilMs.delete(jobUid);
    if (evidence.isLost === true) {
      this.#known.set(jobUid, { ...known, readAtMs, isLost: true });
      return;
    }
    const isRefuted = ({ verdict, grounds }: HealthReport): boolean =>
      grounds !== undefined && refutationOf(verdict, grounds, evidence) !== undefined;
    const deciding = new Map([...known.deciding].filter(([, report]) => !isRefuted(report)));
    const refuted = [...known.deciding.values()].filter((report) => !deciding.has(verdictKey(report)));
    const findings = newestFindings([...known.findings, ...refuted.flatMap((report) => endOfFinding(report, now))]);
    this.#known.set(jobUid, { ...known, readAtMs, deciding, findings });
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#known.delete(jobUid);
    this.#standings.delete(jobUid);
    this.#unreadUntilMs.delete(jobUid);
  }

  /** If few ranks are to blame for a hang, the gang ends and their nodes are avoided. A hang of the network or the program only ends the gang. */
  #culpritsOf({ jobUid, epoch, incarnation, verdict }: HealthReport, known: Known): readonly NamedCulprit[] {
    const { action, kind, ranks, message } = verdict;
    const about = { epoch, incarnation, message };
    const named = ranks.map((rank): NamedCulprit => ({ ...about, about: { kind: 'rank', rank } }));
    const naming = known.namings.get(namingKey(verdict)) ?? namingOf(verdict);
    const isMany = areMany(naming, known.namings.values(), this.#nodesOf(jobUid));
    // Many slow ranks have a common cause, so the job continues and nothing is avoided.
    if (kind === 'slowRank') return !isMany && this.#slowEndsToday(jobUid) < MOST_SLOW_A_DAY ? named : [];
    if (action === 'stop') return [{ ...about, about: { kind: 'gang' } }];
    // Without watermarks it is unknown whether an engine trains, saves or evaluates, so missing steps do not end the gang.
    if (verdict.evidence['waitedForMs'] === undefined) return [];
    // A signal or a debugger stopped its process: the gang is ended as for any rank that others wait for, and the node is not at fault.
    if (verdict.evidence['cause'] === 'stopped') return [{ ...about, about: { kind: 'gang' }, blamesNobody: true }];
    // A live rank may evaluate in a way that no hook recognizes while the others wait at a barrier for minutes.
    if (verdict.evidence['cause'] === 'rankMissing' && !this.#knowsPhases(jobUid)) return [];
    return ranks.length === 0 || isMany ? [{ ...about, about: { kind: 'gang' } }] : named;
  }
}

/** What the verdict stands on, as far as the rules of the job's life know it. A slow gang goes on, so no step refutes that. */
function groundOf(
  { verdict, grounds }: HealthReport,
  receivedAtMs: number,
): Pick<NamedCulprit, 'atStep' | 'isSilence' | 'cause' | 'beganAt'> {
  const waitedForMs = Number(verdict.evidence['waitedForMs'] ?? 0);
  return {
    beganAt: new Date(receivedAtMs - (waitedForMs >= 0 ? Math.min(waitedForMs, MAX_WAIT_MS) : 0)).toISOString(),
    ...(verdict.kind === 'slowRank' ? { cause: 'slow' } : {}),
    ...(grounds === undefined || grounds.step < 0 || verdict.kind === 'slowRank' ? {} : { atStep: grounds.step }),
    ...(verdict.evidence['cause'] === 'noTelemetry' ? { isSilence: true } : {}),
  };
}

/** The verdicts that may end the gang, with the report's. */
function withDeciding(deciding: Known['deciding'], report: HealthReport): Known['deciding'] {
  if (!mayEnd(report)) return deciding;
  return new Map([...deciding, [verdictKey(report), report]]);
}

/** A loss may be bad for one step: the user decides whether to continue. */
function mayEnd({ verdict: { action, kind } }: HealthReport): boolean {
  return (action === 'evict' || action === 'stop') && kind !== 'badLoss';
}

function verdictKey({ verdict: { kind, ranks } }: HealthReport): string {
  return `${kind} ${ranks.join()}`;
}

/**
 * What verdicts named, with the report's. Ranks that became slow together are named together and are due one after the other, so their first naming
 * counts. A wait that is only named may be harmless, so of hangs only verdicts that end gangs count.
 */
function withNaming(namings: Known['namings'], { verdict }: HealthReport): Known['namings'] {
  const { kind, action } = verdict;
  if (kind !== 'slowRank' && action !== 'evict') return namings;
  const key = namingKey(verdict);
  if (action === 'evict' && kind === 'slowRank' && namings.has(key)) return namings;
  return new Map([...namings, [key, namingOf(verdict)]]);
}

function namingKey(verdict: HealthReport['verdict']): string {
  return `${verdict.kind} ${namingOf(verdict).subjects.join()}`;
}

function newestFindings(findings: readonly Finding[]): readonly Finding[] {
  const ofSaves = new Set(findings.filter(({ kind }) => SAVE_KINDS.includes(kind)).slice(-MAX_FINDINGS));
  const others = new Set(findings.filter(({ kind }) => !SAVE_KINDS.includes(kind)).slice(-MAX_FINDINGS));
  return findings.filter((one) => ofSaves.has(one) || others.has(one));
}

/** The finding of a verdict; undefined if it is no incident. */
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
    ...(verdict.kind === 'brokenSave' ? { subject: `s${evidence['step']}` } : {}),
    message,
    evidence: { ...evidence, confidence },
    ...(operations === undefined || operations.length === 0 ? {} : { operations }),
    ...(costMsPerStep === undefined ? {} : { costMsPerStep }),
    ...(action === 'none' ? { isHarmless: true } : {}),
  };
}

/** The end of the incident of a refuted verdict. A stall ends with the gang's next steps, and several verdicts may be about one. */
function endOfFinding(report: HealthReport, now: Date): readonly Finding[] {
  const finding = report.verdict.kind === 'slowRank' ? findingOf(report, now) : undefined;
  return finding === undefined ? [] : [{ ...finding, overAt: now.toISOString() }];
}

/** Time lost per step: a step takes as long as its slowest rank, so the excess of that rank over its peers is lost. */
function costOf({ kind, evidence }: HealthReport['verdict']): number | undefined {
  const { computeMs, stepMs, usualMs, usualStepMs } = evidence;
  const ms = kind === 'slowRank' ? Number(computeMs) - Number(usualMs) : Number(stepMs) - Number(usualStepMs);
  return (kind === 'slowRank' || kind === 'slowJob') && ms > 0 ? ms : undefined;
}

/** Adds the node to the message, if there is one and it may be at fault. */
function withNode(report: HealthReport): HealthReport {
  const { verdict } = report;
  if (verdict.node === undefined || verdict.kind === 'desync') return report;
  return { ...report, verdict: { ...verdict, message: `${verdict.message} Node ${verdict.node}.` } };
}
