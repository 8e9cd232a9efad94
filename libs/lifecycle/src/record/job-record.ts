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
 * What a job's status records, as far as it makes sense. The status may have been written by another version or edited by hand: a part
 * that cannot be read counts as absent, so that one bad field never stops a job.
 */
export interface JobRecord {
  /** Number of the current attempt; 0 before the first. Never falls. */
  readonly epoch: number;
  readonly restarts: { readonly total: number; readonly charged: number };
  /** undefined: no failure was judged yet. */
  readonly failures: TrainingJobStatus['failures'];
  readonly notBefore: string | undefined;
  readonly plan: TrainingJobStatus['plan'];
  readonly progress: TrainingJobStatus['progress'];
  readonly checkpoint: TrainingJobStatus['checkpoint'];
  readonly resumeFrom: TrainingJobStatus['resumeFrom'];
  /** Oldest first. At most the last one is not Ended. */
  readonly attempts: readonly Attempt[];
  /** Oldest first. */
  readonly incidents: readonly Incident[];
  /** Oldest first. */
  readonly avoidedNodes: readonly AvoidedNode[];
  /** Checkpoints of ended attempts whose objects the API server refuses, oldest first. */
  readonly unrecordedCheckpoints: readonly UnrecordedCheckpoint[];
  readonly terminal: Terminal | undefined;
}

const TERMINAL_FAILURES = [...GIVE_UPS, 'DoNotRestart', 'Cancelled', 'NameConflict'] as const;

/** How a job ended for good. */
export type Terminal =
  | { readonly type: 'Complete'; readonly reason: 'AllRanksSucceeded'; readonly message: string }
  | {
      readonly type: 'Failed';
      readonly reason: (typeof TERMINAL_FAILURES)[number];
      readonly message: string;
    };

const shape = TrainingJobStatus.shape;

/**
 * Objects of a cache are read again with every look, several times over. What was read of a status lives as long as the status itself, and is no
 * larger.
 */
const known = new WeakMap<object, JobRecord>();

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
    plan: parsed(raw.plan, shape.plan),
    progress: parsed(raw.progress, shape.progress),
    checkpoint: parsed(raw.checkpoint, shape.checkpoint),
    resumeFrom: parsed(raw.resumeFrom, shape.resumeFrom),
    attempts,
    incidents: listOf(raw.incidents, Incident).slice(-MAX_INCIDENTS_IN_STATUS),
    avoidedNodes: listOf(raw.avoidedNodes, AvoidedNode).slice(-MAX_AVOIDED_NODES),
    unrecordedCheckpoints: listOf(raw.unrecordedCheckpoints, UnrecordedCheckpoint).slice(-MAX_UNRECORDED_CHECKPOINTS),
    // An end beside a gang that is under way was written by somebody else: nothing would stop that gang any more.
    terminal: isUnderWay(attempts.at(-1)) ? undefined : recordedTerminal(recordedConditions(job)),
  };
}

/** The conditions that can be read; of two of one type the first. */
export function recordedConditions(job: TrainingJob): readonly Condition[] {
  return listOf(asRecord(job.status).conditions, Condition);
}

function isUnderWay(last: Attempt | undefined): boolean {
  return last !== undefined && last.stage !== 'Ended';
}

/** The attempt that is under way, if any. */
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

interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false };
}

function parsed<T>(value: unknown, schema: Schema<T>): T | undefined {
  const result = schema.safeParse(value);
  return result.success ? result.data : undefined;
}

function listOf<T>(value: unknown, schema: Schema<T>): readonly T[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown) => parsed(entry, schema) ?? []);
}

function attemptsIn(value: unknown): readonly Attempt[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown) => readAttempt(entry) ?? []);
}

/**
 * The attempt without the fields that cannot be read, such as a reason of a later release. Were it left out as a whole, its gang would be taken
 * for strays, and deleted.
 */
function readAttempt(entry: unknown): Attempt | undefined {
  const whole = Attempt.safeParse(entry);
  if (whole.success) return whole.data;
  const unread = new Set(whole.error.issues.map(({ path }) => path[0]));
  const rest = Object.entries(asRecord(entry)).filter(([field]) => !unread.has(field));
  return parsed(Object.fromEntries(rest), Attempt);
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
