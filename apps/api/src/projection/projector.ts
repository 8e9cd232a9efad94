import type { Checkpoint, Placement, TrainingJob } from '@coxswain/api-types';
import {
  InformerGroup,
  type KubeClient,
  type KubeObject,
  keyOf,
  ObjectCache,
  Reflector,
  resourcePath,
  splitKey,
  systemClock,
  WorkQueue,
  WATCH_CHECK,
} from '@coxswain/kube';
import { jobEvents } from '@coxswain/lifecycle';
import { type Database, isUnavailable, type Sql, storableJson } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { collectionOf } from '../cluster/resources.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { notifyJobChanged } from '../jobs/job-changes.ts';
import { markJobGone, projectJob } from './job-projection.ts';
import { markGone, projectCheckpoint, projectNode, projectPlacement } from './mirrors.ts';

/** What the projector needs. */
export interface ProjectorParts {
  readonly database: Database;
  readonly cluster: Cluster;
  readonly kube: KubeClient;
  readonly logger: Logger;
}

type Kind = 'jobs' | 'checkpoints' | 'placements' | 'nodes';

/** Jobs by the UID that checkpoints and placements carry. */
const BY_JOB = 'by job';

/**
 * Brings rows to what the cluster says, for as long as it leads. Level, not edge: a change only names a key; what is written is what the
 * cache holds when the key’s turn comes. After the first complete lists every row and every object is looked at once, so what vanished
 * while nobody projected is found.
 */
export class Projector {
  readonly #parts: ProjectorParts;
  readonly #jobs = new ObjectCache<TrainingJob & KubeObject>();
  readonly #checkpoints = new ObjectCache<Checkpoint & KubeObject>();
  readonly #placements = new ObjectCache<Placement & KubeObject>();
  readonly #nodes = new ObjectCache<KubeObject>();
  readonly #queue: WorkQueue;
  readonly #group: InformerGroup;
  #synced = false;

  constructor(parts: ProjectorParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({
      clock: systemClock,
      random: Math.random,
      name: 'projector',
      backoff: { minMs: 100, maxMs: 5_000 },
      transientMaxMs: 2_000,
      isTransient: isUnavailable,
      onError: ({ key, error, failures }) =>
        parts.logger.warn(
          { key, failures, reason: (error as Error).message },
          'a row could not be written; trying again',
        ),
    });
    const nodesPath = resourcePath({ group: '', version: 'v1', plural: 'nodes' });
    this.#group = new InformerGroup([
      this.#reflect(collectionOf('trainingjobs'), this.#jobs),
      this.#reflect(collectionOf('checkpoints'), this.#checkpoints),
      this.#reflect(collectionOf('placements'), this.#placements),
      this.#reflect(nodesPath, this.#nodes, trimNode),
    ]);
    this.#checkpoints.addIndex(BY_JOB, (checkpoint) => [checkpoint.spec.jobUid]);
    this.#placements.addIndex(BY_JOB, (placement) => [placement.spec.jobUid]);
  }

  /** Every row has been compared with the cluster at least once. */
  get isSynced(): boolean {
    return this.#synced;
  }

  /** Milliseconds for which the cluster has not been heard. */
  outageMs(): number {
    return this.#group.longestOutageMs();
  }

  /** Projects until `signal` aborts, which must happen at once when the database lock is lost. */
  async run(signal: AbortSignal): Promise<void> {
    this.#jobs.onChange(({ object }) => this.#queue.add(`jobs ${keyOf(object)}`));
    this.#checkpoints.onChange(({ object }) => this.#changedOf('checkpoints', object));
    this.#placements.onChange(({ object }) => this.#changedOf('placements', object));
    this.#nodes.onChange(({ object }) => this.#queue.add(`nodes ${keyOf(object)}`));
    const reflecting = this.#group.run(signal);
    if (await this.#group.waitForSync(signal)) {
      const working = this.#queue.run({ workers: 4, reconcile: (key) => this.#project(key), signal, drainMs: 2_000 });
      await this.#compareEveryRow(signal);
      await working;
    }
    await reflecting;
  }

  #reflect<T extends KubeObject>(collectionPath: string, cache: ObjectCache<T>, trim?: (object: T) => T): Reflector<T> {
    const { kube, logger } = this.#parts;
    return new Reflector<T>({
      client: kube,
      collectionPath,
      cache,
      clock: systemClock,
      random: Math.random,
      check: WATCH_CHECK,
      ...(trim === undefined ? {} : { trim }),
      onError: ({ failure, error }) =>
        logger.debug({ collectionPath, failure, reason: (error as Error)?.message }, 'watch ended early'),
    });
  }

  #changedOf(kind: 'checkpoints' | 'placements', object: Checkpoint | Placement): void {
    this.#queue.add(`${kind} ${keyOf(object)}`);
    this.#queue.add(`jobs ${object.metadata.namespace ?? ''}/${object.spec.jobName}`);
  }

  /** Rows whose object is gone have no key in the caches: they are found in the tables. */
  async #compareEveryRow(signal: AbortSignal): Promise<void> {
    const { database, cluster } = this.#parts;
    for (const table of ['jobs', 'checkpoints', 'placements', 'nodes'] as const) {
      const place = table === 'nodes' ? "''" : 'namespace';
      while (!signal.aborted) {
        try {
          const found = await database.query<{ namespace: string; name: string }>(
            `SELECT ${place} AS namespace, name FROM ${table} WHERE cluster_id = $1 AND deleted_at IS NULL AND uid IS NOT NULL`,
            [cluster.id],
          );
          for (const row of found.rows) {
            this.#queue.add(`${table} ${keyOf({ metadata: row })}`, 'resync');
          }
          break;
        } catch (error) {
          this.#parts.logger.warn({ table, reason: (error as Error).message }, 'rows could not be read; trying again');
          await new Promise((resolve) => setTimeout(resolve, 1_000));
        }
      }
    }
    this.#synced = true;
  }

  async #project(queueKey: string): Promise<void> {
    const space = queueKey.indexOf(' ');
    const kind = queueKey.slice(0, space) as Kind;
    const key = queueKey.slice(space + 1);
    const { namespace = '', name } = splitKey(key);
    const { database, cluster } = this.#parts;
    const cache = {
      jobs: this.#jobs,
      checkpoints: this.#checkpoints,
      placements: this.#placements,
      nodes: this.#nodes,
    }[kind];
    // Read before the object: a deletion seen later than this version is none of this round’s business.
    const seenUpTo = cache.resourceVersion ?? '0';
    const object = cache.get(key);
    const gone = { namespace, name, presentUid: object?.metadata.uid, seenUpTo };
    await database.transaction(async (sql) => {
      if (kind === 'jobs') {
        await markJobGone(sql, cluster, gone);
        const job = this.#jobs.get(key);
        if (job !== undefined) await this.#projectJobWithEvents(sql, job);
        return;
      }
      await markGone(sql, cluster, { ...gone, table: kind });
      if (object === undefined) return;
      if (kind === 'checkpoints') await projectCheckpoint(sql, cluster, object as Checkpoint & KubeObject);
      else if (kind === 'placements') await projectPlacement(sql, cluster, object as Placement & KubeObject);
      else await projectNode(sql, cluster, object);
    });
  }

  async #projectJobWithEvents(sql: Sql, job: TrainingJob): Promise<void> {
    const { jobId } = await projectJob(sql, this.#parts.cluster, job);
    const { uid, namespace } = job.metadata;
    // Users of another namespace can write any UID, so only objects in the job's namespace count.
    const isBeside = (object: KubeObject): boolean => object.metadata.namespace === namespace;
    const events = jobEvents({
      job,
      checkpoints: this.#checkpoints.byIndex(BY_JOB, uid).filter(isBeside),
      placements: this.#placements.byIndex(BY_JOB, uid).filter(isBeside),
    });
    // The row is locked by now, so ids grow in the order of commits: a reader that goes on after an id misses nothing.
    const inserted = await sql.query(
      `INSERT INTO job_events (job_id, key, type, severity, epoch, message, at)
       SELECT $1, e.key, e.type, e.severity, e.epoch, e.message, e.at
         FROM ROWS FROM (
                jsonb_to_recordset($2::jsonb) AS (key text, type text, severity text, epoch integer, message text, at timestamptz)
              ) WITH ORDINALITY AS e (key, type, severity, epoch, message, at, position)
        WHERE NOT EXISTS (SELECT 1 FROM job_events known WHERE known.job_id = $1 AND known.key = e.key)
        ORDER BY e.position
       ON CONFLICT (job_id, key) DO NOTHING RETURNING id`,
      [jobId, storableJson(events)],
    );
    if (inserted.rows.length > 0) await notifyJobChanged(sql, jobId);
  }
}

function trimNode(node: KubeObject): KubeObject {
  const { name, uid, resourceVersion, labels } = node.metadata;
  return {
    apiVersion: node.apiVersion,
    kind: node.kind,
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(labels === undefined ? {} : { labels }),
    },
  };
}
