import {
  AvoidedNode,
  Condition,
  Incident,
  TrainingJobStatus,
  UnrecordedCheckpoint,
  type TrainingJob,
} from '@coxswain/api-types';
import { asRecord, attemptsIn, listOf, parsed, type Schema } from './job-record.ts';

/** Lists in a status. Each readable entry stays. */
const LISTS = {
  conditions: (value: unknown) => listOf(value, Condition),
  attempts: attemptsIn,
  incidents: (value: unknown) => listOf(value, Incident),
  avoidedNodes: (value: unknown) => listOf(value, AvoidedNode),
  unrecordedCheckpoints: (value: unknown) => listOf(value, UnrecordedCheckpoint),
} as const;

/**
 * The job with what can be read of its status. Caches keep this form, so that a status which another version or a person has spoilt cannot fail a
 * reader of all jobs, such as the scheduler or the metrics. A readable status stays the same object. Fields that this release does not know stay.
 */
export function withReadableStatus<T extends Pick<TrainingJob, 'status'>>(job: T): T {
  const raw: unknown = job.status;
  if (raw === undefined || TrainingJobStatus.safeParse(raw).success) return job;
  const { status: _, ...rest } = job;
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return rest as T;
  const fields = Object.entries(asRecord(raw)).flatMap(([name, value]) => {
    const kept = readField(name, value);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return { ...rest, status: Object.fromEntries(fields) } as T;
}

function readField(name: string, value: unknown): unknown {
  if (Object.hasOwn(LISTS, name)) return Array.isArray(value) ? LISTS[name as keyof typeof LISTS](value) : undefined;
  const { shape } = TrainingJobStatus;
  return Object.hasOwn(shape, name) ? parsed(value, shape[name as keyof typeof shape] as Schema<unknown>) : value;
}
