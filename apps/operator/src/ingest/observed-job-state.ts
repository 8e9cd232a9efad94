/** What is known of one observed job, and what the answer says of it. */
import { formatRanks, type ObservedJob, type ObserverReport } from '@coxswain/api-types';
import type { Verdict } from '@coxswain/health';
import type { StandingReport } from './health-reports.ts';
import type { ObservedOwner, ObservedPod } from './observed-pod.ts';
import { FRESH_MS, ObservedRun, type TakenReport } from './observed-run.ts';

type Phase = ObservedJob['phase'];
type Ledger = ObservedJob['ledger'];

const MOST_FINDINGS = 20;
const MOST_PODS = 512;
/** A job whose last step is older does not train, unless its steps take long. */
const LATE_STEP_MS = 60_000;
const LATE_STEPS = 3;
/** The operator was busy, or did not run: that time is not counted for what the job does now. */
const LONGEST_TICK_MS = 10_000;
/** Findings after which the job does not train until its next step. */
const STALLS: readonly Verdict['kind'][] = ['hang', 'networkHang', 'desync', 'notTraining'];

/** Which part of the ledger a phase counts in. */
const PART: Readonly<Record<Phase, keyof Ledger | undefined>> = {
  Pending: 'starting',
  Starting: 'starting',
  Training: 'training',
  NotTraining: 'notTraining',
  Unknown: 'unknown',
  Ended: undefined,
};

/** Holds for every job that Coxswain did not start. */
const NEVER_KNOWN = [
  'Layout: ranks are compared with all ranks of the job, so ranks of a pipeline stage with more layers can look slow.',
  'Planned stops, restarts and checkpoints: another controller decides about them.',
];

/** A job of another controller. */
export class ObservedJobState {
  readonly key: string;
  readonly namespace: string;
  readonly owner: ObservedOwner;
  readonly run: ObservedRun;
  readonly findings: ObservedJob['findings'] = [];
  readonly ledger: Ledger = { training: 0, starting: 0, notTraining: 0, unknown: 0 };
  pods: readonly ObservedPod[] = [];
  lastSeenMs = Number.NEGATIVE_INFINITY;
  observedSince: string | undefined;
  standing: string | null = null;
  step: { readonly step: number; readonly stepTimeMs: number | null; readonly atMs: number } | undefined;
  #stalledAtMs: number | undefined;
  #incarnation = '';
  #tickedAtMs: number | undefined;

  constructor({
    key,
    namespace,
    owner,
  }: {
    readonly key: string;
    readonly namespace: string;
    readonly owner: ObservedOwner;
  }) {
    this.key = key;
    this.namespace = namespace;
    this.owner = owner;
    this.run = new ObservedRun({ jobUid: key, namespace });
  }

  get isOver(): boolean {
    return this.pods.every((pod) => pod.isOver);
  }

  /** Whether the job went back to an earlier attempt: what was known of the later one does not count. */
  setPods(pods: readonly ObservedPod[], nowMs: number): boolean {
    const now = new Set(pods.map(({ uid }) => uid));
    for (const { uid } of this.pods) if (!now.has(uid)) this.run.remove(uid);
    this.pods = pods;
    if (pods.length > 0) this.lastSeenMs = nowMs;
    // Any pod of the namespace can have the label of a later attempt. It counts as long as that pod runs.
    const attempts = pods.flatMap(({ isOver, attempt }) => (isOver ? [] : [attempt]));
    const newest = Math.max(...attempts);
    if (attempts.length === 0 || newest >= this.run.run.epoch) return false;
    this.run.goBackTo(newest);
    return true;
  }

  receive(
    pod: ObservedPod,
    report: ObserverReport,
    { nowMs, wallMs }: { readonly nowMs: number; readonly wallMs: number },
  ): TakenReport | undefined {
    const taken = this.run.receive({ ...pod, node: pod.node ?? 'unknown' }, report, nowMs);
    if (taken === undefined) return undefined;
    if (this.observedSince === undefined) {
      this.observedSince = new Date(wallMs).toISOString();
      this.ledger.unknown += Math.max(0, wallMs - (pod.beganAtMs ?? wallMs)) / 1_000;
    }
    const incarnation = `${taken.run.epoch}/${taken.run.incarnation}`;
    if (incarnation !== this.#incarnation) this.#beginRun(incarnation);
    const isOurs = ({ rank }: { readonly rank: number }): boolean => taken.ranks.has(rank);
    for (const { step, ranks } of report.steps) {
      const timesMs = ranks.filter(isOurs).map(({ stepTimeMs }) => stepTimeMs);
      if (timesMs.length > 0) this.#recordStep(step, Math.max(...timesMs), nowMs);
    }
    for (const { step } of report.ranks.filter(isOurs)) if (step !== null) this.#recordStep(step, null, nowMs);
    return taken;
  }

  addFinding({ kind, ranks, nodes, message, evidence }: Verdict, at: string, nowMs: number): void {
    const found = { at, kind, ranks: [...ranks], nodes: [...nodes], message, evidence: { ...evidence } };
    const last = this.findings.at(-1);
    // A stall is reported again when it has lasted. Nothing acts on it here, so it stays one finding.
    const isSame = last?.kind === kind && last.ranks.join() === ranks.join() && this.#isStalled();
    if (isSame) Object.assign(last, { message, evidence: { ...last.evidence, ...evidence } });
    else this.findings.push(found);
    if (this.findings.length > MOST_FINDINGS) this.findings.shift();
    if (STALLS.includes(kind)) this.#stalledAtMs = nowMs;
  }

  setStanding({ epoch, incarnation, standing }: StandingReport): void {
    if (`${epoch}/${incarnation}` === this.#incarnation) this.standing = standing?.message ?? null;
  }

  tick(nowMs: number): void {
    const sinceMs = nowMs - (this.#tickedAtMs ?? nowMs);
    this.#tickedAtMs = nowMs;
    const part = PART[this.phase(nowMs)];
    if (part !== undefined) this.ledger[part] += Math.min(sinceMs, LONGEST_TICK_MS) / 1_000;
    if (sinceMs > LONGEST_TICK_MS) this.ledger.unknown += (sinceMs - LONGEST_TICK_MS) / 1_000;
  }

  phase(nowMs: number): Phase {
    if (this.isOver) return 'Ended';
    if (!this.pods.some((pod) => pod.phase === 'Running')) return 'Pending';
    const isFresh = this.pods.some(
      ({ uid }) => nowMs - (this.run.reportOf(uid)?.atMs ?? Number.NEGATIVE_INFINITY) <= FRESH_MS,
    );
    if (!isFresh) return 'Unknown';
    if (this.step === undefined) return this.standing === null && !this.#isStalled() ? 'Starting' : 'NotTraining';
    const lateMs = Math.max(LATE_STEP_MS, LATE_STEPS * (this.step.stepTimeMs ?? 0));
    return this.standing !== null || this.#isStalled() || nowMs - this.step.atMs > lateMs ? 'NotTraining' : 'Training';
  }

  /** A stall was found, and no step has ended since. */
  #isStalled(): boolean {
    return this.#stalledAtMs !== undefined && this.#stalledAtMs > (this.step?.atMs ?? Number.NEGATIVE_INFINITY);
  }

  /** Ranks have started again, perhaps from an earlier step. */
  #beginRun(incarnation: string): void {
    this.#incarnation = incarnation;
    this.standing = null;
    this.step = undefined;
    this.#stalledAtMs = undefined;
  }

  #recordStep(step: number, stepTimeMs: number | null, atMs: number): void {
    const known = this.step;
    if (known === undefined || step > known.step) this.step = { step, stepTimeMs, atMs };
    else if (step === known.step && stepTimeMs !== null && stepTimeMs > (known.stepTimeMs ?? 0))
      this.step = { ...known, stepTimeMs };
  }
}

/** The job as the API answers it. */
export function describeObservedJob(job: ObservedJobState, nowMs: number): ObservedJob {
  const { namespace, owner, run, step, pods } = job;
  return {
    namespace,
    kind: owner.kind,
    name: owner.name,
    attempt: run.run.epoch,
    phase: job.phase(nowMs),
    observedSince: job.observedSince ?? null,
    worldSize: run.worldSize ?? null,
    gpus: pods.filter(({ isOver }) => !isOver).reduce((sum, { gpus }) => sum + gpus, 0),
    step: step?.step ?? null,
    stepTimeMs: step?.stepTimeMs ?? null,
    pods: pods.slice(0, MOST_PODS).map((pod) => describePod(pod, run, nowMs)),
    standing: job.standing,
    findings: [...job.findings],
    ledger: { ...job.ledger },
    unknown: [...unknownOf(job), ...NEVER_KNOWN],
  };
}

function describePod(pod: ObservedPod, run: ObservedRun, nowMs: number): ObservedJob['pods'][number] {
  const reported = run.reportOf(pod.uid);
  const unknown = whyUnknown(pod, reported, nowMs);
  return {
    name: pod.name,
    ...(pod.node === undefined ? {} : { node: pod.node }),
    podPhase: pod.phase,
    ranks: formatRanks(run.ranksOf(pod.uid)),
    rankPhases: [...(reported?.phases ?? [])],
    exitCodes: [...pod.exitCodes],
    reportedAgoSeconds: reported === undefined ? null : Math.max(0, (nowMs - reported.atMs) / 1_000),
    ...(unknown === undefined ? {} : { unknown }),
  };
}

function whyUnknown(
  { notWrapped, phase }: ObservedPod,
  reported: ReturnType<ObservedRun['reportOf']>,
  nowMs: number,
): string | undefined {
  if (notWrapped !== undefined) return `not wrapped: ${notWrapped}`;
  if (phase !== 'Running') return undefined;
  if (reported === undefined)
    return 'its observer has not reported: it cannot reach the operator, or cannot run in this image (it needs glibc)';
  if (nowMs - reported.atMs > FRESH_MS)
    return 'its observer reports no longer: it was ended, or cannot reach the operator';
  if (reported.ranks.length > 0) return undefined;
  return 'no rank has reported. A rank reports once its process group exists or it has completed a step, if Python loads the hook (not with -I, -E or -S). RANK must be in its environment from the start';
}

function unknownOf({ run, owner }: ObservedJobState): readonly string[] {
  const { contested } = run;
  if (contested.length === 0) return [];
  return [
    `Which process is rank ${formatRanks(contested)}: pods of this ${owner.kind} claim it at the same time. Coxswain observes one gang of a ${owner.kind}.`,
  ];
}
