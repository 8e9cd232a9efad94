import { isFinished, type TrainingJob } from '@coxswain/api-types';
import {
  type EndCause,
  type EndProposal,
  type EndsInSight,
  type GrantedEnd,
  judgeEnd,
  type JobProposal,
  type Probe,
  type Ruling,
} from './judge-ends.ts';
import { epochOf, fateOf, recordedEnds } from './recorded-ends.ts';
import { ARBITER_SETTINGS, type ArbiterSettings } from './settings.ts';

/** What the arbiter reads of the cluster. No method waits. */
export interface ArbiterView {
  /** Every job that this process knows, with the newest known status. */
  jobs(): readonly TrainingJob[];
  now(): Date;
}

/** The proposals of one observation of a job. */
export interface ProposedEnds {
  /** Notes the proposal and rules on it. Equal proposals get equal answers within one observation. */
  readonly ruleOn: (proposal: EndProposal) => Ruling;
  /** Ends the observation: proposals of the job that were not made again are withdrawn. */
  readonly finish: () => void;
}

/** Every job, read when it is needed first. */
type AllJobs = () => readonly TrainingJob[];

/** Places that a granted gang was to take elsewhere are kept for it no longer than this. */
const PLACED_WITHIN_MS = 1_800_000;

/**
 * Rules on every unrequested end, of all jobs of this process: hangs, slow ranks, leaving nodes, growth and room for others. Each process has one; the
 * operator, tests and the simulator run the same code. A new leader begins without proposals, which the next observation of each job makes again. Ends
 * that an earlier leader granted are read from the status of jobs.
 */
export class EndArbiter {
  readonly #view: ArbiterView;
  readonly #settings: ArbiterSettings;
  readonly #proposals = new Map<string, ReadonlyMap<EndCause, JobProposal>>();
  readonly #held = new Map<string, ReadonlySet<EndCause>>();
  #granted: readonly GrantedEnd[] = [];

  constructor(view: ArbiterView, settings: ArbiterSettings = ARBITER_SETTINGS) {
    this.#view = view;
    this.#settings = settings;
  }

  /** Begins an observation of the job. */
  observe(job: Pick<TrainingJob, 'metadata'>): ProposedEnds {
    const jobUid = job.metadata.uid;
    const namespace = namespaceOf(job);
    const made = new Map<EndCause, JobProposal>();
    const held = new Set<EndCause>();
    // One copy serves all rulings of an observation, which is one synchronous step: the cluster may have thousands of jobs.
    let seen: readonly TrainingJob[] | undefined;
    const jobs = (): readonly TrainingJob[] => (seen ??= this.#view.jobs());
    return {
      ruleOn: (proposal) => {
        const before = this.#proposals.get(jobUid)?.get(proposal.cause);
        const firstAtMs = before?.run === proposal.run ? before.beganAtMs : this.#view.now().getTime();
        const known = { ...proposal, jobUid, namespace, beganAtMs: proposal.beganAtMs ?? firstAtMs };
        made.set(proposal.cause, known);
        this.#proposals.set(jobUid, new Map([...(this.#proposals.get(jobUid) ?? []), [proposal.cause, known]]));
        const ruling = this.#rule(known, jobs);
        if (proposal.isDoubted === true || (ruling.kind === 'held' && proposal.isDue)) held.add(proposal.cause);
        else held.delete(proposal.cause);
        return ruling;
      },
      finish: () => this.#finish(jobUid, { made, held, jobs }),
    };
  }

  /** Number of gangs whose end is held, by cause: by a ruling, or because the operator doubts its own view. */
  heldByCause(): Readonly<Record<EndCause, number>> {
    const counts = { hang: 0, slow: 0, leaving: 0, growth: 0, room: 0 };
    for (const causes of this.#held.values()) for (const cause of causes) counts[cause] += 1;
    return counts;
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#proposals.delete(jobUid);
    this.#held.delete(jobUid);
    this.#granted = this.#granted.filter((end) => end.jobUid !== jobUid);
  }

  #rule(proposal: JobProposal, jobs: AllJobs): Ruling {
    const before = this.#granted.find((end) => isOf(end, proposal));
    if (before !== undefined) return { kind: 'granted', blames: before.blames };
    const nowMs = this.#view.now().getTime();
    const ruling = judgeEnd(proposal, this.#inSight(proposal, nowMs, jobs), this.#settings);
    if (ruling.kind === 'granted' && proposal.asksOnly !== true) {
      const { jobUid, namespace, run, cause, room } = proposal;
      const { blames, probeOf } = ruling;
      const nodes = blames ? proposal.nodes : [];
      const granted = { jobUid, namespace, run, cause, nodes, neededGpus: room?.neededGpus ?? 0, atMs: nowMs, blames };
      const probe = probeOf === undefined ? {} : { probe: { of: probeOf, hasTrained: false } };
      this.#granted = [...this.#granted, { ...granted, ...probe }];
    }
    return ruling;
  }

  /** Jobs are read only for an end that is due. */
  #inSight(proposal: JobProposal, nowMs: number, all: AllJobs): EndsInSight {
    const proposals = [...this.#proposals.values()].flatMap((causes) => causes.get(proposal.cause) ?? []);
    const jobs = proposal.isDue ? all() : [];
    this.#granted = this.#keep(jobs, nowMs);
    const recorded = jobs.flatMap((job) => recordedEnds(job, nowMs - this.#settings.windowMs));
    const unknown = recorded.filter((end) => !this.#granted.some((one) => isOf(one, end)));
    const gangs = new Map<string, number>();
    for (const job of jobs.filter(hasGang)) gangs.set(namespaceOf(job), (gangs.get(namespaceOf(job)) ?? 0) + 1);
    return { proposals, granted: [...this.#granted, ...unknown], gangs, nowMs };
  }

  /** Granted ends that still count, or whose gangs have not been placed again. A run that ended for another reason has not used its grant. */
  #keep(jobs: readonly TrainingJob[], nowMs: number): readonly GrantedEnd[] {
    if (jobs.length === 0) return this.#granted;
    const byUid = new Map(jobs.map((job) => [job.metadata.uid, job]));
    return this.#granted.flatMap((end) => {
      const job = byUid.get(end.jobUid);
      if (job !== undefined && fateOf(end, job) === 'endedOtherwise') return [];
      const isPlaced = job === undefined || (job.status?.epoch ?? 0) > epochOf(end.run) || isFinished(job);
      const ageMs = nowMs - end.atMs;
      const neededGpus = isPlaced || ageMs > PLACED_WITHIN_MS ? 0 : end.neededGpus;
      const probe = job === undefined ? undefined : probeOf(end, job);
      const isProbe = probe !== undefined && ageMs < this.#settings.probeMs;
      if (neededGpus === 0 && ageMs > this.#settings.windowMs && !isProbe) return [];
      const { probe: _, ...rest } = end;
      return [{ ...rest, neededGpus, ...(isProbe ? { probe } : {}) }];
    });
  }

  #finish(
    jobUid: string,
    {
      made,
      held,
      jobs,
    }: {
      readonly made: ReadonlyMap<EndCause, JobProposal>;
      readonly held: ReadonlySet<EndCause>;
      readonly jobs: AllJobs;
    },
  ): void {
    if (made.size === 0) this.#proposals.delete(jobUid);
    else this.#proposals.set(jobUid, made);
    if (held.size === 0) this.#held.delete(jobUid);
    else this.#held.set(jobUid, held);
    // The run goes on although its end was granted.
    const isWithdrawn = (end: GrantedEnd): boolean => {
      const again = made.get(end.cause);
      if (end.jobUid !== jobUid || (again !== undefined && again.asksOnly !== true)) return false;
      const job = jobs().find(({ metadata }) => metadata.uid === jobUid);
      return job !== undefined && fateOf(end, job) === 'goesOn';
    };
    if (this.#granted.some((end) => end.jobUid === jobUid)) {
      this.#granted = this.#granted.filter((end) => !isWithdrawn(end));
    }
  }
}

function namespaceOf({ metadata }: Pick<TrainingJob, 'metadata'>): string {
  return metadata.namespace ?? '';
}

/** Whether the job has a gang, or is about to have its next one. */
function hasGang(job: TrainingJob): boolean {
  const last = job.status?.attempts?.at(-1);
  return last !== undefined && last.outcome !== 'Suspended' && !isFinished(job);
}

/** What the restart after that end has shown; undefined: it is no probe, or the job has no gang any more. */
function probeOf({ run, probe }: GrantedEnd, job: TrainingJob): Probe | undefined {
  if (probe === undefined || !hasGang(job)) return undefined;
  const attempts = job.status?.attempts ?? [];
  const hasTrained = attempts.some(({ epoch, firstStep }) => epoch > epochOf(run) && firstStep !== undefined);
  return { ...probe, hasTrained: probe.hasTrained || hasTrained };
}

function isOf(
  end: Pick<GrantedEnd, 'jobUid' | 'run' | 'cause'>,
  other: Pick<GrantedEnd, 'jobUid' | 'run' | 'cause'>,
): boolean {
  return end.jobUid === other.jobUid && end.run === other.run && end.cause === other.cause;
}
