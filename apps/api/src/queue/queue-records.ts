import { gpusOfPod, type TrainingJob } from '@coxswain/api-types';
import type { Database, Sql } from '@coxswain/persistence';
import { holdingJobs } from '../fabric/fabric-jobs.ts';
import type { Cluster } from '../infrastructure/tokens.ts';

/** Jobs that are read: more than that wait or run in no cluster that Coxswain is tested with. */
const MAX_JOBS = 20_000;

/** A job as far as order and predicted ends need it. Its name is left out. */
export interface RecordedJob {
  /** Of its row. */
  readonly id: string;
  /** null: its namespace belongs to no project. */
  readonly projectId: string | null;
  readonly job: TrainingJob;
}

/** What all answers about the queue are computed from. */
export interface QueueState {
  /** Jobs that have not ended. */
  readonly jobs: readonly RecordedJob[];
  /** What running jobs hold, by id. */
  readonly pods: ReadonlyMap<string, readonly { readonly node: string; readonly gpus: number }[]>;
  /** The newest start of a job of each namespace in which a job waits. */
  readonly servedAt: ReadonlyMap<string, string>;
}

interface Row {
  readonly id: string;
  readonly uid: string;
  readonly project_id: string | null;
  readonly namespace: string;
  readonly created_at: Date;
  readonly spec: object;
  readonly status: object;
  readonly attempts: readonly object[];
}

/**
 * Reads the jobs of every project, because whose turn it is depends on all of them. It reads no name, image or message of a job: names come from
 * statements that see what the caller may see.
 */
export class QueueRecords {
  readonly #database: Sql;
  readonly #cluster: Cluster;

  constructor(database: Database, cluster: Cluster) {
    this.#database = database;
    this.#cluster = cluster;
  }

  async read(): Promise<QueueState> {
    const [jobs, held, served] = await Promise.all([
      this.#database.query<Row>(UNFINISHED, [this.#cluster.id]),
      holdingJobs(this.#database, this.#cluster, MAX_JOBS),
      this.#database.query<{ namespace: string; started_at: string }>(SERVED, [this.#cluster.id]),
    ]);
    return {
      jobs: jobs.rows.map(toRecordedJob),
      pods: new Map(
        held.jobs.map(({ id, placement }) => [
          id,
          placement.nodes.map((node, index) => ({ node, gpus: gpusOfPod(placement, index) })),
        ]),
      ),
      servedAt: new Map(served.rows.map((row) => [row.namespace, row.started_at])),
    };
  }
}

function toRecordedJob({ id, uid, project_id: projectId, namespace, created_at, ...row }: Row): RecordedJob {
  const job = {
    apiVersion: 'training.coxswain.dev/v1alpha1',
    kind: 'TrainingJob',
    metadata: { uid, name: uid, namespace, creationTimestamp: created_at.toISOString() },
    spec: row.spec,
    status: { ...row.status, attempts: row.attempts },
  };
  return { id, projectId, job: job as unknown as TrainingJob };
}

const UNFINISHED = `
  SELECT j.id, j.uid, j.project_id, j.namespace, j.created_at,
         jsonb_strip_nulls(jsonb_build_object(
           'layout', j.spec -> 'layout', 'gpus', j.spec -> 'gpus', 'training', j.spec -> 'training',
           'maxRuntimeSeconds', j.spec -> 'maxRuntimeSeconds',
           'terminationGracePeriodSeconds', j.spec -> 'terminationGracePeriodSeconds',
           'resources', jsonb_build_object('gpusPerNode', j.spec -> 'resources' -> 'gpusPerNode'),
           'model', jsonb_build_object('sequenceLength', j.spec -> 'model' -> 'sequenceLength'))) AS spec,
         jsonb_strip_nulls(jsonb_build_object(
           'askedAt', j.status -> 'askedAt', 'expectedStart', j.status -> 'expectedStart', 'priority', j.status -> 'priority',
           'progress', j.status -> 'progress', 'checkpoint', j.status -> 'checkpoint', 'runtime', j.status -> 'runtime',
           'plan', CASE WHEN j.status ? 'plan' THEN (j.status -> 'plan') - '{runnersUp,errorStatement,refusal,fabric,whyStages}'::text[] END,
           'conditions', (
             SELECT jsonb_agg(jsonb_build_object(
                      'type', 'Placed', 'status', c -> 'status', 'reason', c -> 'reason', 'lastTransitionTime', c -> 'lastTransitionTime',
                      'message', CASE WHEN c ->> 'message' ~ 'exceeded quota' THEN 'exceeded quota' ELSE '' END))
               FROM jsonb_array_elements(CASE jsonb_typeof(j.status -> 'conditions') WHEN 'array' THEN j.status -> 'conditions' ELSE '[]' END) AS c
              WHERE c ->> 'type' = 'Placed'))) AS status,
         coalesce((
           SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                    'epoch', a.attempt -> 'epoch', 'stage', a.attempt -> 'stage', 'startedAt', a.attempt -> 'startedAt',
                    'stoppingAt', a.attempt -> 'stoppingAt', 'incarnation', a.attempt -> 'incarnation', 'pace', a.attempt -> 'pace',
                    'firstStep', a.attempt -> 'firstStep', 'lastStep', a.attempt -> 'lastStep', 'lastStepAt', a.attempt -> 'lastStepAt',
                    'layout', a.attempt -> 'layout', 'prediction', a.attempt -> 'prediction', 'resumedFrom', a.attempt -> 'resumedFrom'))
                  ORDER BY a.epoch)
             FROM (SELECT epoch, attempt FROM attempts WHERE cluster_id = j.cluster_id AND job_uid = j.uid
                    ORDER BY epoch DESC LIMIT 3) AS a), '[]') AS attempts
    FROM jobs j
   WHERE j.cluster_id = $1 AND j.finished_at IS NULL AND j.deleted_at IS NULL AND j.uid IS NOT NULL
   ORDER BY j.created_at LIMIT ${MAX_JOBS}`;

const SERVED = `
  SELECT j.namespace, max(a.started_at) AS started_at
    FROM jobs j
    JOIN LATERAL (SELECT attempt ->> 'startedAt' AS started_at FROM attempts
                   WHERE cluster_id = j.cluster_id AND job_uid = j.uid ORDER BY epoch DESC LIMIT 1) AS a ON true
   WHERE j.cluster_id = $1 AND j.deleted_at IS NULL
     AND j.namespace IN (SELECT w.namespace FROM jobs w WHERE w.cluster_id = $1 AND w.waits_since IS NOT NULL
                            AND w.finished_at IS NULL AND w.deleted_at IS NULL)
   GROUP BY j.namespace`;
