import type { Checkpoint, Placement, TrainingJob } from '@coxswain/api-types';
import {
  InformerGroup,
  isUnauthorizedVerb,
  type KubeClient,
  type KubeObject,
  keyOf,
  Reflector,
  type ReflectorOptions,
  type ReflectorProblem,
  resourcePath,
  splitKey,
  systemClock,
  WorkQueue,
  WATCH_CHECK,
} from '@coxswain/kube';
import { jobEvents, withReadableStatus } from '@coxswain/lifecycle';
import { type Database, isUnavailable, type Sql, storableJson } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { collectionOf, sentenceOf } from '../cluster/resources.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { notifyJobChanged } from '../jobs/job-changes.ts';
import { markJobGone, projectJob } from './job-projection.ts';
import { markGone, projectCheckpoint, projectNode, projectPlacement } from './mirrors.ts';
import { NamespacedCache } from './namespaced-cache.ts';
import { isReadableSpec } from './readable-objects.ts';

/** What the projector needs. */
export interface ProjectorParts {
  readonly database: Database;
  readonly cluster: Cluster;
  readonly kube: KubeClient;
  readonly logger: Logger;
  /** Those that the API may read; empty: all. */
  readonly namespaces: readonly string[];
}

type Kind = 'jobs' | 'checkpoints' | 'placements' | 'nodes';

/** What is read of a cache, whatever its objects are. */
interface CacheView {
  readonly resourceVersion: string | undefined;
  get(key: string): KubeObject | undefined;
  list(): readonly KubeObject[];
}

/** What is listed and watched together: jobs and what belongs to them, in one namespace or in all (''); or the nodes. */
interface Scope {
  readonly namespace: string;
  readonly kinds: readonly Kind[];
  readonly group: InformerGroup;
  /** Every row of the scope has been compared with the cluster at least once. */
  isCompared: boolean;
  /** Why the API server does not let the API read the scope. */
  refusal: string | undefined;
}

/** Jobs by the UID that checkpoints and placements carry. */
const BY_JOB = 'by job';

/**
 * Brings rows to what the cluster says, for as long as it leads. Level, not edge: a change only names a key; what is written is what the
 * cache holds when the key’s turn comes. After the first complete lists of a scope every row and every object of it is looked at once, so what vanished
 * while no replica projected is found. Rows of namespaces that the API may not read stay as they are.
 */
export class Projector {
  readonly #parts: ProjectorParts;
  readonly #jobs: NamespacedCache<TrainingJob & KubeObject>;
  readonly #checkpoints: NamespacedCache<Checkpoint & KubeObject>;
  readonly #placements: NamespacedCache<Placement & KubeObject>;
  readonly #nodes = new NamespacedCache<KubeObject>([]);
  readonly #queue: WorkQueue;
  readonly #jobScopes: readonly Scope[];
  readonly #nodeScope: Scope;

  constructor(parts: ProjectorParts) {
    this.#parts = parts;
    const { namespaces } = parts;
    this.#jobs = new NamespacedCache(namespaces);
    this.#checkpoints = new NamespacedCache(namespaces);
    this.#placements = new NamespacedCache(namespaces);
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
    this.#jobScopes = (namespaces.length === 0 ? [''] : namespaces).map((namespace) => this.#jobScope(namespace));
    this.#nodeScope = this.#scopeOfNodes();
    this.#checkpoints.addIndex(BY_JOB, (checkpoint) =>
      isReadableSpec('checkpoints', checkpoint.spec) ? [checkpoint.spec.jobUid] : [],
    );
    this.#placements.addIndex(BY_JOB, (placement) =>
      isReadableSpec('placements', placement.spec) ? [placement.spec.jobUid] : [],
    );
  }

  /** Every row has been compared with the cluster at least once. If the API is confined to namespaces, what the API server refuses holds nothing up. */
  get isSynced(): boolean {
    return this.#scopes.every((scope) => scope.isCompared || this.#isLeftOut(scope));
  }

  /** Milliseconds for which the cluster has not been heard, without what the API server refuses to a confined API. */
  outageMs(): number {
    const heard = this.#scopes.filter((scope) => !this.#isLeftOut(scope));
    return Math.max(0, ...heard.map(({ group }) => group.longestOutageMs()));
  }

  get #scopes(): readonly Scope[] {
    return [...this.#jobScopes, this.#nodeScope];
  }

  /** A scope that was refused once and is read again counts again, with its outages. */
  #isLeftOut({ refusal, isCompared, group }: Scope): boolean {
    const isRead = isCompared && group.longestOutageMs() === 0;
    return this.#parts.namespaces.length > 0 && refusal !== undefined && !isRead;
  }

  /** Projects until `signal` aborts, which must happen at once when the database lock is lost. */
  async run(signal: AbortSignal): Promise<void> {
    this.#jobs.onChange(({ object }) => this.#queue.add(`jobs ${keyOf(object)}`));
    this.#checkpoints.onChange(({ object }) => this.#changedOf('checkpoints', object));
    this.#placements.onChange(({ object }) => this.#changedOf('placements', object));
    this.#nodes.onChange(({ object }) => this.#queue.add(`nodes ${keyOf(object)}`));
    const working = this.#queue.run({ workers: 4, reconcile: (key) => this.#project(key), signal, drainMs: 2_000 });
    await Promise.all([working, ...this.#scopes.map((scope) => this.#follow(scope, signal))]);
  }

  async #follow(scope: Scope, signal: AbortSignal): Promise<void> {
    const reflecting = scope.group.run(signal);
    if (await scope.group.waitForSync(signal)) await this.#compareEveryRow(scope, signal);
    await reflecting;
  }

  #jobScope(namespace: string): Scope {
    const path = (plural: Parameters<typeof collectionOf>[0]): string =>
      namespace === '' ? collectionOf(plural) : collectionOf(plural, namespace);
    const onError = (problem: ReflectorProblem): void => this.#noteProblem(scope, problem);
    const scope: Scope = {
      namespace,
      kinds: ['jobs', 'checkpoints', 'placements'],
      group: new InformerGroup([
        this.#reflector({ collectionPath: path('trainingjobs'), cache: this.#jobs.cacheOf(namespace), onError }),
        this.#reflector({ collectionPath: path('checkpoints'), cache: this.#checkpoints.cacheOf(namespace), onError }),
        this.#reflector({ collectionPath: path('placements'), cache: this.#placements.cacheOf(namespace), onError }),
      ]),
      isCompared: false,
      refusal: undefined,
    };
    return scope;
  }

  #scopeOfNodes(): Scope {
    const collectionPath = resourcePath({ group: '', version: 'v1', plural: 'nodes' });
    const onError = (problem: ReflectorProblem): void => this.#noteProblem(scope, problem);
    const cache = this.#nodes.cacheOf('');
    const group = new InformerGroup([this.#reflector({ collectionPath, cache, trim: trimNode, onError })]);
    const scope: Scope = { namespace: '', kinds: ['nodes'], group, isCompared: false, refusal: undefined };
    return scope;
  }

  #reflector<T extends KubeObject>(
    options: Pick<ReflectorOptions<T>, 'collectionPath' | 'cache' | 'trim' | 'onError'>,
  ): Reflector<T> {
    const { kube } = this.#parts;
    return new Reflector<T>({ client: kube, clock: systemClock, random: Math.random, check: WATCH_CHECK, ...options });
  }

  /** A namespace that the API may not read is logged once; the reflectors go on trying, so that a role that is added later is enough. */
  #noteProblem(scope: Scope, { collectionPath, failure, error }: ReflectorProblem): void {
    const { logger } = this.#parts;
    logger.debug({ collectionPath, failure, reason: (error as Error)?.message }, 'watch ended early');
    if (!isUnauthorizedVerb(error) || scope.refusal !== undefined) return;
    scope.refusal = sentenceOf(error);
    const { namespace, refusal: reason } = scope;
    logger.warn(
      { namespace, collectionPath, reason },
      'the API may not read this collection; its rows stay as they are',
    );
  }

  #changedOf(kind: 'checkpoints' | 'placements', object: Checkpoint | Placement): void {
    this.#queue.add(`${kind} ${keyOf(object)}`);
    if (!isReadableSpec(kind, object.spec)) return;
    this.#queue.add(`jobs ${object.metadata.namespace ?? ''}/${object.spec.jobName}`);
  }

  /** Rows whose object is gone have no key in the caches: they are found in the tables. */
  async #compareEveryRow(scope: Scope, signal: AbortSignal): Promise<void> {
    scope.refusal = undefined;
    this.#addEveryObject(scope);
    const { database, cluster } = this.#parts;
    for (const table of scope.kinds) {
      const place = table === 'nodes' ? "''" : 'namespace';
      while (!signal.aborted) {
        try {
          const found = await database.query<{ namespace: string; name: string }>(
            `SELECT ${place} AS namespace, name FROM ${table}
              WHERE cluster_id = $1 AND deleted_at IS NULL AND uid IS NOT NULL AND ($2 = '' OR ${place} = $2)`,
            [cluster.id, scope.namespace],
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
    scope.isCompared = true;
  }

  /** What changed before the scope was complete was passed over. */
  #addEveryObject({ namespace, kinds }: Scope): void {
    for (const kind of kinds) {
      for (const object of this.#cacheOf(kind, namespace)?.list() ?? []) this.#queue.add(`${kind} ${keyOf(object)}`);
    }
  }

  /** Undefined if the API may not read the namespace. */
  #cacheOf(kind: Kind, namespace: string): CacheView | undefined {
    const caches = {
      jobs: this.#jobs,
      checkpoints: this.#checkpoints,
      placements: this.#placements,
      nodes: this.#nodes,
    };
    return caches[kind].within(namespace);
  }

  #scopeOf(kind: Kind, namespace: string): Scope | undefined {
    if (kind === 'nodes') return this.#nodeScope;
    return this.#jobScopes.find((scope) => scope.namespace === '' || scope.namespace === namespace);
  }

  async #project(queueKey: string): Promise<void> {
    const space = queueKey.indexOf(' ');
    const kind = queueKey.slice(0, space) as Kind;
    const key = queueKey.slice(space + 1);
    const { namespace = '', name } = splitKey(key);
    const { database, cluster } = this.#parts;
    const cache = this.#cacheOf(kind, namespace);
    // A list that is not complete proves nothing; when it is, everything is added again.
    if (cache === undefined || this.#scopeOf(kind, namespace)?.group.hasSynced() !== true) return;
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
      if (kind !== 'nodes' && !isReadableSpec(kind, (object as { readonly spec?: unknown }).spec))
        return this.#noteUnreadable(kind, key);
      if (kind === 'checkpoints') await projectCheckpoint(sql, cluster, object as Checkpoint & KubeObject);
      else if (kind === 'placements') await projectPlacement(sql, cluster, object as Placement & KubeObject);
      else await projectNode(sql, cluster, object);
    });
  }

  /** Not again and again: trying again makes no object readable, and its next version is projected anyway. */
  #noteUnreadable(kind: Kind, key: string): void {
    this.#parts.logger.warn({ kind, key }, 'the spec of this object cannot be read; it has no row');
  }

  async #projectJobWithEvents(sql: Sql, job: TrainingJob): Promise<void> {
    const projected = await projectJob(sql, this.#parts.cluster, job);
    if (projected === undefined) return this.#noteUnreadable('jobs', keyOf(job));
    const { jobId } = projected;
    const { uid, namespace } = job.metadata;
    // Users of another namespace can write any UID, so only objects in the job's namespace count.
    const beside = <T extends KubeObject>(cache: NamespacedCache<T>): readonly T[] =>
      (cache.within(namespace ?? '')?.byIndex(BY_JOB, uid) ?? []).filter(
        (object) => object.metadata.namespace === namespace,
      );
    const events = jobEvents({
      job: withReadableStatus(job),
      checkpoints: beside(this.#checkpoints),
      placements: beside(this.#placements),
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
