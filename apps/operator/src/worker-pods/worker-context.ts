import { type CheckpointBucket, CONTAINERS, type RuntimeSnapshot, type TrainingJob } from '@coxswain/api-types';
import type { WorkerPlacement } from '../config/worker-placement.ts';

/** Where a worker runs, and as whom. */
export interface WorkerContext {
  readonly launcherImage: string;
  /** User ID of containers that the runtime gives none; undefined: the user of the image. */
  readonly user: number | undefined;
  /** Absent: any node. */
  readonly workers?: WorkerPlacement;
  /** The job that saved it, if it still exists. */
  readonly job: TrainingJob | undefined;
  /** Of the job's newest attempt: it says as which user the trainer wrote the files. */
  readonly runtime: RuntimeSnapshot | undefined;
  /** The only node that may mount the claim now; undefined: any. */
  readonly node: string | undefined;
}

type Json = Readonly<Record<string, unknown>>;

const USER_FIELDS = ['runAsUser', 'runAsGroup', 'runAsNonRoot', 'fsGroup', 'supplementalGroups'];

/** What a runtime says of the user that wrote the files. Nothing else of it is needed to read them. */
export function userOf(runtime: RuntimeSnapshot | undefined): {
  readonly pod: Json;
  readonly trainer: Json;
  readonly imagePullSecrets?: unknown;
} {
  const spec = record(record(runtime?.template)['spec']);
  const containers = Array.isArray(spec['containers']) ? spec['containers'].map(record) : [];
  const trainer = containers.find(({ name }) => name === CONTAINERS.trainer) ?? {};
  const secrets = spec['imagePullSecrets'];
  return {
    pod: userFields(spec['securityContext']),
    trainer: userFields(trainer['securityContext']),
    ...(secrets === undefined ? {} : { imagePullSecrets: secrets }),
  };
}

/** The account whose identity reaches the bucket if no Secret does. */
export function identityOf(bucket: CheckpointBucket | undefined, runtime: RuntimeSnapshot | undefined): Json {
  const { serviceAccountName } = record(record(runtime?.template)['spec']);
  const isNeeded = bucket !== undefined && bucket.credentialsSecret === undefined;
  return isNeeded && serviceAccountName !== undefined ? { serviceAccountName } : {};
}

function userFields(context: unknown): Json {
  return Object.fromEntries(Object.entries(record(context)).filter(([field]) => USER_FIELDS.includes(field)));
}

/** The fields of an object; none of anything else. */
export function record(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}
