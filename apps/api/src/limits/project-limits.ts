import type { ProjectLimit } from '@coxswain/api-types';
import type { Sql } from '@coxswain/persistence';
import { firstOf } from '@coxswain/persistence';
import type { Metrics } from '@coxswain/telemetry';
import { TokenBucket } from '@coxswain/units';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config/config.ts';
import { IS_GONE } from '../infrastructure/gone-jobs.ts';
import { CLOCK, CONFIG, METRICS, type WallClock } from '../infrastructure/tokens.ts';
import { type Limit, LimitExceeded, LIMITS } from './limit-exceeded.ts';
import { HeldPlaces } from './held-places.ts';

/** What a project can have many of. */
type Made = 'jobs' | 'endedJobs' | 'layouts' | 'tokens' | 'webhooks';
type Counted = Made | 'storedPlans' | 'jobRecords';

/** Counts no further than the limit, so that a project with many costs no more. */
const COUNTS: Readonly<Record<Counted, string>> = {
  jobs: 'SELECT 1 FROM jobs WHERE project_id = $1 AND finished_at IS NULL AND deleted_at IS NULL LIMIT $2',
  endedJobs:
    "SELECT 1 FROM jobs WHERE project_id = $1 AND finished_at IS NOT NULL AND deleted_at IS NULL AND state <> 'Refused' LIMIT $2",
  layouts: 'SELECT 1 FROM layouts WHERE project_id = $1 LIMIT $2',
  tokens:
    'SELECT 1 FROM api_tokens WHERE project_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) LIMIT $2',
  webhooks: 'SELECT 1 FROM webhooks WHERE project_id = $1 LIMIT $2',
  storedPlans: 'SELECT 1 FROM plans WHERE project_id = $1 LIMIT $2',
  jobRecords: `SELECT 1 FROM jobs WHERE project_id = $1 AND ${IS_GONE} LIMIT $2`,
};

const REMEDIES: Readonly<Record<Made, string>> = {
  jobs: 'jobs that have not ended; wait for one to end, or cancel one',
  endedJobs:
    'jobs that have ended and are still in the cluster; delete those that are needed no longer (`coxswain delete --ended-before 30d` deletes many)',
  layouts: 'saved layouts; use one of them, or put the layout into the job',
  tokens: 'tokens that are good; revoke one first',
  webhooks: 'webhooks; remove one first',
};
/** In the order of the answer. */
const COUNTED = ['jobs', 'endedJobs', 'layouts', 'tokens', 'webhooks', 'storedPlans', 'jobRecords'] as const;
/** The largest number in an answer, also if the limit is higher or absent. */
const MAX_REPORTED_COUNT = 10_000;
/** Objects go when somebody does something about them. */
const OBJECTS_RETRY_SECONDS = 60;
/** A request takes some ten milliseconds. */
const CONCURRENCY_RETRY_SECONDS = 1;
/** Streams go when somebody stops watching. */
const STREAMS_RETRY_SECONDS = 10;

/** What the limits need to know of a principal. */
export interface LimitedPrincipal {
  readonly id: string;
  readonly name: string;
  /** Cluster administrators have no limits. */
  readonly isClusterAdmin: boolean;
  readonly memberships: readonly Party[];
}

/** Whose share a request is counted in. */
interface Party {
  readonly id: string;
  /** As an error names it. */
  readonly name: string;
}

/**
 * How much of the API one project may use: requests a second and at a time in this process, and objects. There is a bucket for each project that
 * has asked since the start, 200 bytes each. What a person of several projects asks of none of them counts as a project of its own. Cluster
 * administrators are not limited: they must be able to help when everything else is too much.
 */
@Injectable()
export class ProjectLimits {
  readonly #limits: Config['projectLimits'];
  readonly #clock: WallClock;
  readonly #refused: (limit: Limit) => void;
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #writes = new Map<string, TokenBucket>();
  /** Questions to the planner that wait or are searched, by project. */
  readonly plans = new HeldPlaces();
  readonly #running = new HeldPlaces();
  readonly #streamsOfProjects = new HeldPlaces();
  readonly #streamsOfPrincipals = new HeldPlaces();

  constructor(@Inject(CONFIG) config: Config, @Inject(CLOCK) clock: WallClock, @Inject(METRICS) metrics: Metrics) {
    this.#limits = config.projectLimits;
    this.#clock = clock;
    const refusals = metrics.counter({
      name: 'coxswain_api_limited_requests_total',
      help: 'Requests that were answered 429 because their project had met a limit.',
      labelNames: ['limit'],
    });
    for (const limit of LIMITS) refusals.inc({ limit }, 0);
    this.#refused = (limit) => refusals.inc({ limit });
  }

  /** Lets a request in, and gives what is to be called when it has been answered. An answer that goes on for as long as somebody reads is not counted among those at a time. */
  admit(
    principal: LimitedPrincipal,
    {
      goesOn,
      project,
      writes = 0,
    }: { readonly goesOn: boolean; readonly project?: string | undefined; readonly writes?: number },
  ): () => void {
    const whose = partyOf(principal, project);
    this.#charge(whose, 1);
    this.#chargeWrites(whose, writes);
    const most = this.#limits.concurrentRequests;
    if (whose === undefined || goesOn || most === 0) return () => undefined;
    if (this.#running.held(whose.id) >= most) {
      const message = `${whose.name} has ${most} requests under way, which is the most; wait for their answers`;
      throw this.refuse('concurrency', message, CONCURRENCY_RETRY_SECONDS);
    }
    return this.#running.hold(whose.id);
  }

  /** Lets somebody open a stream, and gives what is to be called when it has ended. No project: an administrator watches, or a log is read. */
  openStream(principal: LimitedPrincipal, projectId?: string): () => void {
    const { streams, streamsPerPrincipal } = this.#limits;
    if (streamsPerPrincipal > 0 && this.#streamsOfPrincipals.held(principal.id) >= streamsPerPrincipal) {
      const message = `you have ${streamsPerPrincipal} streams open, which is the most; close one first`;
      throw this.refuse('streams', message, STREAMS_RETRY_SECONDS);
    }
    if (projectId === undefined) return this.#streamsOfPrincipals.hold(principal.id);
    if (streams > 0 && this.#streamsOfProjects.held(projectId) >= streams) {
      const message = `this project has ${streams} streams open in this replica, which is the most; try again when one has been closed`;
      throw this.refuse('streams', message, STREAMS_RETRY_SECONDS);
    }
    const places = [this.#streamsOfPrincipals.hold(principal.id), this.#streamsOfProjects.hold(projectId)];
    return () => {
      for (const giveBack of places) giveBack();
    };
  }

  /** Counts so many requests of the project's share of a second. */
  charge(principal: LimitedPrincipal, requests: number): void {
    this.#charge(partyOf(principal, undefined), requests);
  }

  /** Counts requests that may change something. Each has an entry in the audit, which keeps them for a year. */
  chargeWrites(principal: LimitedPrincipal, writes: number): void {
    this.#chargeWrites(partyOf(principal, undefined), writes);
  }

  #chargeWrites(whose: Party | undefined, writes: number): void {
    const { writesPerMinute, writeBurst: burst } = this.#limits;
    if (writesPerMinute === 0 || writes === 0 || whose === undefined) return;
    const nowMs = this.#clock.now().getTime();
    const rate = { perSecond: writesPerMinute / 60, burst };
    const bucket = this.#writes.get(whose.id) ?? new TokenBucket(rate, nowMs);
    this.#writes.set(whose.id, bucket);
    const waitS = bucket.take(nowMs, writes) / 1_000;
    if (waitS === 0) return;
    const message = `${whose.name} sent too many requests that may change something: ${writesPerMinute} a minute are allowed, and ${burst} at once after a rest; try again in ${Math.max(1, Math.ceil(waitS))} s`;
    throw this.refuse('writes', message, waitS);
  }

  #charge(whose: Party | undefined, requests: number): void {
    const { requestsPerSecond: perSecond, requestBurst: burst } = this.#limits;
    if (perSecond === 0 || whose === undefined) return;
    const waitS = this.#bucketOf(whose).take(this.#clock.now().getTime(), requests) / 1_000;
    if (waitS === 0) return;
    const message = `${whose.name} has asked too often: ${perSecond} requests a second are allowed, and ${burst} at once after a rest; ask again in ${Math.max(1, Math.ceil(waitS))} s`;
    throw this.refuse('rate', message, waitS);
  }

  /**
   * For a transaction that creates one more. Concurrent transactions of a project wait for each other, so that the limit is exact. Ended jobs are
   * counted without that lock, because jobs end by themselves.
   */
  async requireRoom(
    sql: Sql,
    project: { readonly id: string; readonly name: string },
    what: Made,
    { times }: { readonly times: number } = { times: 1 },
  ): Promise<void> {
    const most = this.#limits[what] * times;
    if (most === 0) return;
    if (what !== 'endedJobs')
      await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 3))', [`${project.id}/${what}`]);
    if ((await countUpTo(most, sql, { id: project.id, what })) < most) return;
    const message = `project "${project.name}" has ${most} ${REMEDIES[what]}. ${most} is its limit; an operator of the API can raise it`;
    throw this.refuse(what, message, OBJECTS_RETRY_SECONDS);
  }

  /** What the project may use, and what of it is used now: in this process, and in the rows that `sql` sees. */
  async inUse(sql: Sql, { id }: { readonly id: string }): Promise<ProjectLimit[]> {
    const { requestsPerSecond, requestBurst, ...most } = this.#limits;
    const isRateLimited = requestsPerSecond > 0;
    const burst = this.#buckets.get(id)?.used(this.#clock.now().getTime()) ?? 0;
    const here = { concurrentRequests: this.#running, plans: this.plans, streams: this.#streamsOfProjects };
    const limits: ProjectLimit[] = [
      {
        name: 'requestBurst',
        most: isRateLimited ? requestBurst : null,
        used: Math.ceil(burst),
        perSecond: isRateLimited ? requestsPerSecond : null,
        counted: 'inReplica',
      },
    ];
    for (const name of ['concurrentRequests', 'plans', 'streams'] as const)
      limits.push({ ...limitOf(name, most[name]), used: here[name].held(id), counted: 'inReplica' });
    for (const name of COUNTED) {
      const used = await countUpTo(Math.max(most[name], MAX_REPORTED_COUNT), sql, { id, what: name });
      limits.push({ ...limitOf(name, most[name]), used, counted: 'inProject' });
    }
    return limits;
  }

  /** Most plans of one project that wait for the planner or are searched; 0: no limit. */
  get mostPlans(): number {
    return this.#limits.plans;
  }

  /** Plans that a project keeps, the newest; 0: no limit. */
  get mostStoredPlans(): number {
    return this.#limits.storedPlans;
  }

  /** What is to be thrown; it is counted. */
  refuse(limit: Limit, message: string, retryAfterSeconds: number): LimitExceeded {
    this.#refused(limit);
    return new LimitExceeded(limit, message, retryAfterSeconds);
  }

  #bucketOf(whose: Party): TokenBucket {
    const known = this.#buckets.get(whose.id);
    if (known !== undefined) return known;
    const { requestsPerSecond: perSecond, requestBurst: burst } = this.#limits;
    const fresh = new TokenBucket({ perSecond, burst }, this.#clock.now().getTime());
    this.#buckets.set(whose.id, fresh);
    return fresh;
  }
}

function limitOf<Name extends string>(name: Name, most: number): { name: Name; most: number | null; perSecond: null } {
  return { name, most: most === 0 ? null : most, perSecond: null };
}

async function countUpTo(
  most: number,
  sql: Sql,
  { id, what }: { readonly id: string; readonly what: Counted },
): Promise<number> {
  const counting = `SELECT count(*)::integer AS n FROM (${COUNTS[what]}) AS counted`;
  return firstOf(await sql.query<{ n: number }>(counting, [id, most]))?.n ?? 0;
}

/** The project that the request names, or the only one there is; undefined for administrators. */
function partyOf(principal: LimitedPrincipal, named: string | undefined): Party | undefined {
  if (principal.isClusterAdmin) return undefined;
  const { memberships } = principal;
  const only = memberships.length === 1 ? memberships[0] : undefined;
  const project = memberships.find(({ name }) => name === named) ?? only;
  if (project !== undefined) return { id: project.id, name: `project "${project.name}"` };
  return { id: principal.id, name: `"${principal.name}"` };
}
