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
import { CpuShares } from './cpu-shares.ts';
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

/** All requests without a token share one bucket. */
const STRANGERS = 'strangers';

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
 * How much of the API one project may use: requests a second and at a time in this process, and objects. There are up to four buckets for each project
 * that has asked since the start, 200 bytes each. What a person of several projects asks of none of them counts as a project of its own. Cluster
 * administrators are not limited: they must be able to help when everything else is too much.
 */
@Injectable()
export class ProjectLimits {
  readonly #limits: Config['projectLimits'];
  readonly #clock: WallClock;
  readonly #refused: (limit: Limit) => void;
  readonly #requests = new Map<string, TokenBucket>();
  readonly #changes = new Map<string, TokenBucket>();
  readonly #writes = new Map<string, TokenBucket>();
  readonly #stops = new Map<string, TokenBucket>();
  /** Questions to the planner that wait or are searched, by project. */
  readonly plans = new HeldPlaces();
  readonly #running = new HeldPlaces();
  readonly #streamsOfProjects = new HeldPlaces();
  readonly #streamsOfPrincipals = new HeldPlaces();
  readonly #logStreams = new HeldPlaces();
  readonly #mostLogStreams: number;
  readonly #cpuOfProjects: CpuShares;
  readonly #cpuOfPrincipals: CpuShares;
  readonly #cpuOfStrangers: CpuShares;
  readonly #cpuCharged: (whose: 'projects' | 'administrators' | 'strangers', ms: number) => void;

  constructor(@Inject(CONFIG) config: Config, @Inject(CLOCK) clock: WallClock, @Inject(METRICS) metrics: Metrics) {
    this.#limits = config.projectLimits;
    this.#mostLogStreams = config.replicaLimits.logStreams;
    this.#clock = clock;
    const refusals = metrics.counter({
      name: 'coxswain_api_limited_requests_total',
      help: 'Requests that were answered 429 because their project had met a limit.',
      labelNames: ['limit'],
    });
    for (const limit of LIMITS) refusals.inc({ limit }, 0);
    this.#refused = (limit) => refusals.inc({ limit });
    this.#cpuOfProjects = new CpuShares(config.cpuShares.projectMsPerSecond);
    this.#cpuOfPrincipals = new CpuShares(config.cpuShares.principalMsPerSecond);
    this.#cpuOfStrangers = new CpuShares(config.cpuShares.strangersMsPerSecond);
    const cpu = metrics.counter({
      name: 'coxswain_api_request_cpu_seconds_total',
      help: 'Processor time of the event loop that requests used, by who pays for it.',
      labelNames: ['whose'],
    });
    this.#cpuCharged = (whose, ms) => cpu.inc({ whose }, ms / 1_000);
  }

  /** Lets a request in, and gives what is to be called when it has been answered. An answer that goes on for as long as somebody reads is not counted among those at a time. */
  admit(
    principal: LimitedPrincipal,
    {
      goesOn,
      project,
      writes = 0,
      isStop = false,
    }: {
      readonly goesOn: boolean;
      readonly project?: string | undefined;
      /** Requests that may change something. */
      readonly writes?: number;
      /** They stop a job: other writes of the project never hold them up. */
      readonly isStop?: boolean;
    },
  ): () => void {
    const whose = partyOf(principal, project);
    if (whose !== undefined) this.#requireCpu(whose, principal);
    this.#charge(whose, 1);
    const most = this.#limits.concurrentRequests;
    const isCounted = whose !== undefined && !goesOn && most > 0;
    if (isCounted && this.#running.held(whose.id) >= most) {
      const message = `${whose.name} has ${most} requests under way, which is the most; wait for their answers`;
      throw this.refuse('concurrency', message, CONCURRENCY_RETRY_SECONDS);
    }
    this.#chargeWrites(whose, writes, isStop);
    return isCounted ? this.#running.hold(whose.id) : () => undefined;
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

  /** Lets somebody read a log, and gives what is to be called when that has ended. Each log holds a connection to the cluster. No project: an administrator reads. */
  openLog(principal: LimitedPrincipal, projectId?: string): () => void {
    const leave = this.openStream(principal);
    try {
      const giveBack = this.#placeOfLog(projectId ?? principal.id, projectId !== undefined);
      return () => {
        giveBack();
        leave();
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Above the bound of the replica, an owner without a log still gets one: others cannot keep it out. */
  #placeOfLog(owner: string, isProject: boolean): () => void {
    const most = this.#limits.logStreams;
    const held = this.#logStreams.held(owner);
    if (isProject && most > 0 && held >= most) {
      const message = `this project has ${most} logs open in this replica, which is the most; close one first`;
      throw this.refuse('logStreams', message, STREAMS_RETRY_SECONDS);
    }
    if (this.#mostLogStreams > 0 && held > 0 && this.#logStreams.total >= this.#mostLogStreams) {
      const message = `this replica has ${this.#mostLogStreams} logs open, which is the most, and you have ${held} of them; close one, or try again in ${STREAMS_RETRY_SECONDS} s`;
      throw this.refuse('logStreams', message, STREAMS_RETRY_SECONDS);
    }
    return this.#logStreams.hold(owner);
  }

  /** Counts so many requests of the project's share of a second. */
  charge(principal: LimitedPrincipal, requests: number): void {
    this.#charge(partyOf(principal, undefined), requests);
  }

  /** Whose share something of a request takes: the project’s, or the principal’s where it asks of none. */
  ownerOf(principal: LimitedPrincipal, project: string | undefined): string {
    return partyOf(principal, project)?.id ?? principal.id;
  }

  /** Charges processor time that a request has used to its project and to its principal. */
  chargeCpu(principal: LimitedPrincipal, project: string | undefined, usedMs: number): void {
    const whose = partyOf(principal, project);
    this.#cpuCharged(whose === undefined ? 'administrators' : 'projects', usedMs);
    if (whose === undefined) return;
    const nowMs = this.#clock.now().getTime();
    this.#cpuOfProjects.charge(whose.id, usedMs, nowMs);
    this.#cpuOfPrincipals.charge(principal.id, usedMs, nowMs);
  }

  /** Charges processor time of a request that was not admitted. */
  chargeStrangers(usedMs: number): void {
    this.#cpuCharged('strangers', usedMs);
    this.#cpuOfStrangers.charge(STRANGERS, usedMs, this.#clock.now().getTime());
  }

  /** Refuses a request without a token while such requests, all together, are beyond their share of the processor. */
  admitStranger(): void {
    const waitMs = this.#cpuOfStrangers.waitMs(STRANGERS, this.#clock.now().getTime());
    if (waitMs > 0) throw this.#cpuRefusal('requests without a token have', this.#cpuOfStrangers, waitMs);
  }

  #requireCpu(whose: Party, { id }: LimitedPrincipal): void {
    const nowMs = this.#clock.now().getTime();
    const ofProject = this.#cpuOfProjects.waitMs(whose.id, nowMs);
    if (ofProject > 0) throw this.#cpuRefusal(`${whose.name} has`, this.#cpuOfProjects, ofProject);
    const ofPrincipal = this.#cpuOfPrincipals.waitMs(id, nowMs);
    if (ofPrincipal > 0) throw this.#cpuRefusal('you have', this.#cpuOfPrincipals, ofPrincipal);
  }

  #cpuRefusal(who: string, { msPerSecond }: CpuShares, waitMs: number): LimitExceeded {
    const message = `${who} used more than a share of this replica's processor: ${msPerSecond} ms a second are allowed. Ask for less at once, or ask again in ${Math.max(1, Math.ceil(waitMs / 1_000))} s`;
    return this.refuse('cpu', message, waitMs / 1_000);
  }

  /** Counts requests that may change something. Each has an entry in the audit, which keeps them for a year. */
  chargeWrites(principal: LimitedPrincipal, writes: number): void {
    this.#chargeWrites(partyOf(principal, undefined), writes, false);
  }

  #chargeWrites(whose: Party | undefined, writes: number, isStop: boolean): void {
    const { writesPerMinute, writeBurst: burst } = this.#limits;
    if (writesPerMinute === 0 || writes === 0 || whose === undefined) return;
    const buckets = isStop ? this.#stops : this.#writes;
    const waitS = this.#take(buckets, whose, { perSecond: writesPerMinute / 60, burst, times: writes });
    if (waitS === 0) return;
    const message = `${whose.name} sent too many requests that may change something: ${writesPerMinute} a minute are allowed, and ${burst} at once after a rest; try again in ${wholeSeconds(waitS)} s`;
    throw this.refuse('writes', message, waitS);
  }

  #charge(whose: Party | undefined, requests: number): void {
    const { requestsPerSecond: perSecond, requestBurst: burst } = this.#limits;
    if (perSecond === 0 || whose === undefined) return;
    const waitS = this.#take(this.#requests, whose, { perSecond, burst, times: requests });
    if (waitS === 0) return;
    const message = `${whose.name} has asked too often: ${perSecond} requests a second are allowed, and ${burst} at once after a rest; ask again in ${wholeSeconds(waitS)} s`;
    throw this.refuse('rate', message, waitS);
  }

  /** Counts a change of a job (create, resume, labels): each has to be brought to the cluster, by workers that all projects share. */
  chargeChange(principal: LimitedPrincipal, project: string): void {
    const whose = partyOf(principal, project);
    const { changesPerSecond: perSecond, changeBurst: burst } = this.#limits;
    if (perSecond === 0 || whose === undefined) return;
    const waitS = this.#take(this.#changes, whose, { perSecond, burst, times: 1 });
    if (waitS === 0) return;
    const message = `${whose.name} has changed jobs too often: ${perSecond} changes a second are allowed, and ${burst} at once after a rest; try again in ${wholeSeconds(waitS)} s`;
    throw this.refuse('changes', message, waitS);
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
    const { requestsPerSecond, requestBurst, changesPerSecond, changeBurst, ...most } = this.#limits;
    const usedOf = (buckets: ReadonlyMap<string, TokenBucket>): number =>
      buckets.get(id)?.used(this.#clock.now().getTime()) ?? 0;
    const here = { concurrentRequests: this.#running, plans: this.plans, streams: this.#streamsOfProjects };
    const limits: ProjectLimit[] = [
      burstOf('requestBurst', { perSecond: requestsPerSecond, burst: requestBurst, used: usedOf(this.#requests) }),
      burstOf('changeBurst', { perSecond: changesPerSecond, burst: changeBurst, used: usedOf(this.#changes) }),
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

  /** Seconds until so many are left, or 0 where they have been taken. */
  #take(
    buckets: Map<string, TokenBucket>,
    whose: Party,
    { times, ...rate }: { readonly perSecond: number; readonly burst: number; readonly times: number },
  ): number {
    const nowMs = this.#clock.now().getTime();
    const bucket = buckets.get(whose.id) ?? new TokenBucket(rate, nowMs);
    buckets.set(whose.id, bucket);
    return bucket.take(nowMs, times) / 1_000;
  }
}

function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.ceil(seconds));
}

function burstOf(
  name: 'requestBurst' | 'changeBurst',
  { perSecond, burst, used }: { readonly perSecond: number; readonly burst: number; readonly used: number },
): ProjectLimit {
  const rate = perSecond > 0 ? { most: burst, perSecond } : { most: null, perSecond: null };
  return { name, ...rate, used: Math.ceil(used), counted: 'inReplica' };
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
