import type { ProjectLimit } from '@coxswain/api-types';
import type { Sql } from '@coxswain/persistence';
import type { Metrics } from '@coxswain/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config/config.ts';
import { CLOCK, CONFIG, METRICS, type WallClock } from '../infrastructure/tokens.ts';
import { type Limit, LimitExceeded, LIMITS } from './limit-exceeded.ts';
import { CpuShares } from './cpu-shares.ts';
import { HeldPlaces } from './held-places.ts';
import { COUNTED, countUpTo, type Made } from './object-counts.ts';
import { type StreamBounds, StreamPlaces } from './stream-places.ts';
import { TokenBuckets } from './token-buckets.ts';

const REMEDIES: Readonly<Record<Made, string>> = {
  jobs: 'jobs that have not ended; wait for one to end, or cancel one',
  endedJobs:
    'jobs that have ended and are still in the cluster; delete those that are needed no longer (`coxswain delete --ended-before 30d` deletes many)',
  layouts: 'saved layouts; use one of them, or put the layout into the job',
  tokens: 'tokens that are good; revoke one first',
  webhooks: 'webhooks; remove one first',
};
/** The largest number in an answer, also if the limit is higher or absent. */
const MAX_REPORTED_COUNT = 10_000;
/** Objects go when somebody does something about them. */
const OBJECTS_RETRY_SECONDS = 60;
/** A request takes some ten milliseconds. */
const CONCURRENCY_RETRY_SECONDS = 1;
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
 * How much of the API one project may use: requests a second and at a time in this process, and objects. Buckets are kept for projects that asked lately. What a person of several projects asks of none of them counts as a project of its own. Cluster
 * administrators are not limited: they must be able to help when everything else is too much.
 */
@Injectable()
export class ProjectLimits {
  readonly #limits: Config['projectLimits'];
  readonly #clock: WallClock;
  readonly #refused: (limit: Limit) => void;
  readonly #requests: TokenBuckets;
  readonly #changes: TokenBuckets;
  readonly #writes: TokenBuckets;
  readonly #stops: TokenBuckets;
  /** Questions to the planner that wait or are searched, by project. */
  readonly plans = new HeldPlaces();
  readonly #running = new HeldPlaces();
  readonly #streams: StreamPlaces;
  readonly #cpuOfProjects: CpuShares;
  readonly #cpuOfPrincipals: CpuShares;
  readonly #cpuOfStrangers: CpuShares;
  readonly #cpuCharged: (whose: 'projects' | 'administrators' | 'strangers', ms: number) => void;

  constructor(@Inject(CONFIG) config: Config, @Inject(CLOCK) clock: WallClock, @Inject(METRICS) metrics: Metrics) {
    this.#limits = config.projectLimits;
    const { requestsPerSecond, requestBurst, changesPerSecond, changeBurst, writesPerMinute, writeBurst } =
      this.#limits;
    this.#requests = new TokenBuckets({ perSecond: requestsPerSecond, burst: requestBurst });
    this.#changes = new TokenBuckets({ perSecond: changesPerSecond, burst: changeBurst });
    this.#writes = new TokenBuckets({ perSecond: writesPerMinute / 60, burst: writeBurst });
    this.#stops = new TokenBuckets({ perSecond: writesPerMinute / 60, burst: writeBurst });
    this.#streams = new StreamPlaces(boundsOfStreams(config), (limit, message, seconds) =>
      this.refuse(limit, message, seconds),
    );
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
    this.#chargeWrites(whose, writes, { isStop });
    return isCounted ? this.#running.hold(whose.id) : () => undefined;
  }

  /** Lets a stream be opened, and gives what is to be called when it has ended. `cut` ends it, to make room for others. No project: an administrator watches. */
  openStream({ id }: Pick<LimitedPrincipal, 'id'>, projectId: string | undefined, cut: () => void): () => void {
    return this.#streams.openStream(id, projectId, cut);
  }

  /** The same of a log. No project: an administrator reads. */
  openLog({ id }: Pick<LimitedPrincipal, 'id'>, projectId: string | undefined, cut: () => void): () => void {
    return this.#streams.openLog(id, projectId, cut);
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

  /** Counts requests that may change something, and those of them that stop a job apart. Each has an entry in the audit, which keeps them for a year. */
  chargeWrites(
    principal: LimitedPrincipal,
    { writes, stops }: { readonly writes: number; readonly stops: number },
  ): void {
    const whose = partyOf(principal, undefined);
    this.#chargeWrites(whose, writes, { isStop: false });
    this.#chargeWrites(whose, stops, { isStop: true });
  }

  #chargeWrites(whose: Party | undefined, writes: number, { isStop }: { readonly isStop: boolean }): void {
    const { writesPerMinute, writeBurst: burst } = this.#limits;
    if (writesPerMinute === 0 || writes === 0 || whose === undefined) return;
    const waitS = this.#take(isStop ? this.#stops : this.#writes, whose, writes);
    if (waitS === 0) return;
    const message = `${whose.name} sent too many requests that may change something: ${writesPerMinute} a minute are allowed, and ${burst} at once after a rest; try again in ${wholeSeconds(waitS)} s`;
    throw this.refuse('writes', message, waitS);
  }

  #charge(whose: Party | undefined, requests: number): void {
    const { requestsPerSecond: perSecond, requestBurst: burst } = this.#limits;
    if (perSecond === 0 || whose === undefined) return;
    const waitS = this.#take(this.#requests, whose, requests);
    if (waitS === 0) return;
    const message = `${whose.name} has asked too often: ${perSecond} requests a second are allowed, and ${burst} at once after a rest; ask again in ${wholeSeconds(waitS)} s`;
    throw this.refuse('rate', message, waitS);
  }

  /** Counts a change of a job (create, resume, labels): each has to be brought to the cluster, by workers that all projects share. */
  chargeChange(principal: LimitedPrincipal, project: string): void {
    const whose = partyOf(principal, project);
    const { changesPerSecond: perSecond, changeBurst: burst } = this.#limits;
    if (perSecond === 0 || whose === undefined) return;
    const waitS = this.#take(this.#changes, whose, 1);
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
    const nowMs = this.#clock.now().getTime();
    const of = this.#limits;
    const used = (buckets: TokenBuckets): number => buckets.used(id, nowMs);
    const here = {
      concurrentRequests: this.#running.held(id),
      plans: this.plans.held(id),
      ...this.#streams.heldBy(id),
    };
    const cpu = { most: this.#cpuOfProjects.burstMs, perSecond: this.#cpuOfProjects.msPerSecond };
    const limits: ProjectLimit[] = [
      burstOf('requestBurst', used(this.#requests), { most: of.requestBurst, perSecond: of.requestsPerSecond }),
      burstOf('changeBurst', used(this.#changes), { most: of.changeBurst, perSecond: of.changesPerSecond }),
      burstOf('writeBurst', used(this.#writes), { most: of.writeBurst, perMinute: of.writesPerMinute }),
      burstOf('stopBurst', used(this.#stops), { most: of.writeBurst, perMinute: of.writesPerMinute }),
      burstOf('cpuMilliseconds', this.#cpuOfProjects.usedMs(id, nowMs), cpu),
    ];
    for (const name of ['concurrentRequests', 'plans', 'streams', 'logStreams'] as const)
      limits.push({ ...limitOf(name, of[name]), used: here[name], counted: 'inReplica' });
    for (const name of COUNTED) {
      const count = await countUpTo(Math.max(of[name], MAX_REPORTED_COUNT), sql, { id, what: name });
      limits.push({ ...limitOf(name, of[name]), used: count, counted: 'inProject' });
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
  #take(buckets: TokenBuckets, whose: Party, times: number): number {
    return buckets.take(whose.id, this.#clock.now().getTime(), times) / 1_000;
  }
}

function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.ceil(seconds));
}

/** A rate of 0: no limit. */
function burstOf(
  name: 'requestBurst' | 'changeBurst' | 'writeBurst' | 'stopBurst' | 'cpuMilliseconds',
  used: number,
  { most, perSecond, perMinute }: { readonly most: number; readonly perSecond?: number; readonly perMinute?: number },
): ProjectLimit {
  const isLimited = (perSecond ?? perMinute ?? 0) > 0;
  const rate = isLimited ? { most, perSecond: perSecond ?? null } : { most: null, perSecond: null };
  const refill = isLimited && perMinute !== undefined ? { perMinute } : {};
  return { name, ...rate, ...refill, used: Math.ceil(used), counted: 'inReplica' };
}

function limitOf<Name extends string>(name: Name, most: number): { name: Name; most: number | null; perSecond: null } {
  return { name, most: most === 0 ? null : most, perSecond: null };
}

function boundsOfStreams({ projectLimits, replicaLimits }: Config): StreamBounds {
  return {
    ofPrincipal: projectLimits.streamsPerPrincipal,
    streams: projectLimits.streams,
    streamsInAll: replicaLimits.eventStreams,
    logs: projectLimits.logStreams,
    logsInAll: replicaLimits.logStreams,
  };
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
