import {
  Attempt,
  AvoidedNode,
  Condition,
  findCondition,
  GIVE_UPS,
  Incident,
  isTrue,
  MAX_INCIDENTS_IN_STATUS,
  MAX_ATTEMPTS_IN_STATUS,
  MAX_AVOIDED_NODES,
  type TrainingJob,
  TrainingJobStatus,
  MAX_UNRECORDED_CHECKPOINTS,
  UnrecordedCheckpoint,
} from '@coxswain/api-types';

/**
 * What a job's status records, without unreadable parts. Another version or a user may have written the status, so an unreadable part
 * counts as absent and one bad field never stops a job.
 */
export interface JobRecord {
  /** Number of the current attempt; 0 before the first. It never decreases. */
  readonly epoch: number;
  readonly restarts: { readonly total: number; readonly charged: number };
  /** undefined: no failure was judged yet. */
  readonly failures: TrainingJobStatus['failures'];
  readonly notBefore: string | undefined;
  /** RFC 3339: since when this run of the job asks for GPUs. */
  readonly askedAt: string | undefined;
  /** undefined: 0. */
  readonly priority: TrainingJobStatus['priority'];
  /** undefined: the job has no limit of its run's time. */
  readonly runtime: TrainingJobStatus['runtime'];
  readonly expectedStart: TrainingJobStatus['expectedStart'];
  /** Running jobs that make room for this one; undefined: there were none since the last start. */
  readonly claim: TrainingJobStatus['claim'];
  readonly plan: TrainingJobStatus['plan'];
  readonly progress: TrainingJobStatus['progress'];
  readonly checkpoint: TrainingJobStatus['checkpoint'];
  readonly resumeFrom: TrainingJobStatus['resumeFrom'];
  /** Oldest first. Only the last one may be running. */
  readonly attempts: readonly Attempt[];
  /** Oldest first. */
  readonly incidents: readonly Incident[];
  /** Oldest first. */
  readonly avoidedNodes: readonly AvoidedNode[];
  /** Checkpoints of ended attempts whose objects the API server refuses, oldest first. */
  readonly unrecordedCheckpoints: readonly UnrecordedCheckpoint[];
  /** The newest conversion of a checkpoint that the job needed. */
  readonly conversion: TrainingJobStatus['conversion'];
  readonly terminal: Terminal | undefined;
}

const TERMINAL_FAILURES = [
  ...GIVE_UPS,
  'DoNotRestart',
  'NothingTrained',
  'Cancelled',
  'MaxRuntimeReached',
  'NameConflict',
] as const;

/** The final state of a job. */
export type Terminal =
  | { readonly type: 'Complete'; readonly reason: 'AllRanksSucceeded'; readonly message: string }
  | {
      readonly type: 'Failed';
      readonly reason: (typeof TERMINAL_FAILURES)[number];
      readonly message: string;
    };

const shape = TrainingJobStatus.shape;

/**
 * Records by status object, because every reconciliation reads the same cached status several times. An entry lives as long as its status,
 * and is no larger.
 */
const known = new WeakMap<object, JobRecord>();

/** What the job's status records. */
export function recordOf(job: TrainingJob): JobRecord {
  const status: unknown = job.status;
  if (typeof status !== 'object' || status === null) return readRecord(job);
  const record = known.get(status) ?? readRecord(job);
  known.set(status, record);
  return record;
}

function readRecord(job: TrainingJob): JobRecord {
  const raw = asRecord(job.status);
  const attempts = attemptsIn(raw.attempts)
    .toSorted((left, right) => left.epoch - right.epoch)
    .slice(-MAX_ATTEMPTS_IN_STATUS)
    .map((attempt, index, all) => (index < all.length - 1 ? { ...attempt, stage: 'Ended' as const } : attempt));
  return {
    epoch: Math.max(parsed(raw.epoch, shape.epoch) ?? 0, attempts.at(-1)?.epoch ?? 0),
    restarts: parsed(raw.restarts, shape.restarts) ?? { total: 0, charged: 0 },
    failures: parsed(raw.failures, shape.failures),
    notBefore: parsed(raw.notBefore, shape.notBefore),
    askedAt: parsed(raw.askedAt, shape.askedAt),
    priority: parsed(raw.priority, shape.priority),
    runtime: parsed(raw.runtime, shape.runtime),
    expectedStart: parsed(raw.expectedStart, shape.expectedStart),
    claim: parsed(raw.claim, shape.claim),
    plan: parsed(raw.plan, shape.plan),
    progress: parsed(raw.progress, shape.progress),
    checkpoint: parsed(raw.checkpoint, shape.checkpoint),
    resumeFrom: parsed(raw.resumeFrom, shape.resumeFrom),
    attempts,
    incidents: listOf(raw.incidents, Incident).slice(-MAX_INCIDENTS_IN_STATUS),
    avoidedNodes: listOf(raw.avoidedNodes, AvoidedNode).slice(-MAX_AVOIDED_NODES),
    unrecordedCheckpoints: listOf(raw.unrecordedCheckpoints, UnrecordedCheckpoint).slice(-MAX_UNRECORDED_CHECKPOINTS),
    conversion: parsed(raw.conversion, shape.conversion),
    // A final state beside a running gang was forged: accepting it would leave the gang running forever.
    terminal: isUnderWay(attempts.at(-1)) ? undefined : recordedTerminal(recordedConditions(job)),
  };
}

/** The readable conditions; of two of one type, the first. */
export function recordedConditions(job: TrainingJob): readonly Condition[] {
  return listOf(asRecord(job.status).conditions, Condition);
}

function isUnderWay(last: Attempt | undefined): boolean {
  return last !== undefined && last.stage !== 'Ended';
}

/** The current attempt if it has not ended. */
export function liveAttempt(record: JobRecord): Attempt | undefined {
  const last = record.attempts.at(-1);
  return last !== undefined && last.epoch === record.epoch && last.stage !== 'Ended' ? last : undefined;
}

/** The record with its last attempt changed. */
export function withLastAttempt(record: JobRecord, changes: Partial<Attempt>): JobRecord {
  const last = record.attempts.at(-1);
  return last === undefined
    ? record
    : { ...record, attempts: [...record.attempts.slice(0, -1), { ...last, ...changes }] };
}

function recordedTerminal(conditions: readonly Condition[]): Terminal | undefined {
  if (isTrue(conditions, 'Complete')) {
    const message = findCondition(conditions, 'Complete')?.message ?? '';
    return { type: 'Complete', reason: 'AllRanksSucceeded', message };
  }
  const failed = findCondition(conditions, 'Failed');
  if (failed?.status !== 'True') return undefined;
  const reason = TERMINAL_FAILURES.find((known) => known === failed.reason) ?? 'RestartsExhausted';
  return { type: 'Failed', reason, message: failed.message };
}

/** The part of a zod schema that reads a value. */
export interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false };
}

/** The value if the schema accepts it. */
export function parsed<T>(value: unknown, schema: Schema<T>): T | undefined {
  const result = schema.safeParse(value);
  return result.success ? result.data : undefined;
}

/** The entries that the schema accepts. */
export function listOf<T>(value: unknown, schema: Schema<T>): readonly T[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown) => parsed(entry, schema) ?? []);
}

/** The readable attempts of a status. */
export function attemptsIn(value: unknown): readonly Attempt[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown) => readAttempt(entry) ?? []);
}

/**
 * The attempt without unreadable fields, such as a reason of a later release. If the whole attempt were dropped, its pods would count as
 * strays and be deleted.
 */
function readAttempt(entry: unknown): Attempt | undefined {
  const whole = Attempt.safeParse(entry);
  if (whole.success) return whole.data;
  const unread = new Set(whole.error.issues.map(({ path }) => path[0]));
  const rest = Object.entries(asRecord(entry)).filter(([field]) => !unread.has(field));
  return parsed(Object.fromEntries(rest), Attempt);
}

/** The value if it is an object; otherwise an empty one. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
