/** Do the ranks of the gangs that report go on, and who holds the others up? Judged in the thread of the reports, as reports come. */
import type { LauncherMessage, ProcessGroup, StepReport } from '@coxswain/api-types';
import { type Detector, gangOf, type Gang, HEALTH_SETTINGS, hangDetector, type Verdict } from '@coxswain/health';
import type { ParallelLayout } from '@coxswain/layout';

/** How often launchers tell of ranks that say nothing new. */
const REPORT_EVERY_MS = 10_000;
/** Who is in a gang is asked again after so long where it was not known. */
const ASK_AGAIN_MS = 5_000;
/** Verdicts of one run that are told; a run that gets more is looked at by people already. */
const MAX_VERDICTS = 64;

/** One start of a gang's ranks. */
export interface RunOfRanks {
  readonly jobUid: string;
  readonly epoch: number;
  readonly incarnation: number;
}

/** How its ranks are divided, and which run where. */
export interface GangRoster {
  readonly epoch: number;
  readonly layout: ParallelLayout;
  readonly nodes: readonly { readonly node: string; readonly ranks: string }[];
}

/** What was found of a run. */
export interface HealthWord extends RunOfRanks {
  readonly verdict: Verdict;
}

interface Watched extends RunOfRanks {
  askedAtMs: number;
  judge: { readonly gang: Gang; readonly hang: Detector } | undefined;
  /** Ranks that have spoken for themselves: that their process is there, as its launcher says, shows nothing of them. */
  readonly speaking: Set<number>;
  verdicts: number;
}

type Heartbeat = Extract<LauncherMessage, { kind: 'heartbeat' }>;

/**
 * One set of detectors for each run that reports. A process that begins to lead knows nothing of before: what it waits for it waits for anew, except what
 * ranks say themselves of how long they have waited. What a job's ranks say counts for that job alone.
 */
export class HealthWatch {
  readonly #now: () => number;
  readonly #roster: (jobUid: string) => Promise<GangRoster | undefined>;
  readonly #watched = new Map<string, Watched>();
  #words: HealthWord[] = [];

  constructor(parts: {
    /** Milliseconds of a clock that never goes back. */
    readonly monotonicMs: () => number;
    /** Of the job's newest epoch; undefined where it is not seen. Must not reject. */
    readonly rosterOf: (jobUid: string) => Promise<GangRoster | undefined>;
  }) {
    this.#now = parts.monotonicMs;
    this.#roster = parts.rosterOf;
  }

  /** A launcher tells what its ranks do. A rank that speaks for itself is heard when it does, one that cannot while its process lives. */
  heartbeat(
    run: RunOfRanks,
    { ranks, watermarks = [], processGroups = [] }: Omit<Partial<Heartbeat>, 'ranks'> & Pick<Heartbeat, 'ranks'>,
  ): void {
    const { judge, speaking } = this.#watchedOf(run) ?? {};
    if (judge === undefined || speaking === undefined) return;
    for (const group of processGroups) declare(judge.gang, group);
    const atMs = this.#now();
    for (const { rank } of watermarks) speaking.add(rank);
    const others = ranks.filter(({ rank, alive }) => alive && !speaking.has(rank));
    if (watermarks.length > 0) this.#take(run, judge.hang.observe({ kind: 'watermarks', atMs, ranks: watermarks }));
    if (others.length > 0) {
      const told = others.map(({ rank, step }) => ({ rank, step }));
      this.#take(run, judge.hang.observe({ kind: 'heartbeat', atMs, ranks: told }));
    }
  }

  step(run: RunOfRanks, { step, loss, gradNorm, ranks }: StepReport): void {
    const judge = this.#watchedOf(run)?.judge;
    if (judge === undefined) return;
    this.#take(run, judge.hang.observe({ kind: 'step', atMs: this.#now(), step, loss, gradNorm, ranks }));
  }

  /** Time passes, also where nobody says anything. */
  look(): void {
    for (const run of this.#watched.values()) {
      if (run.judge !== undefined) this.#take(run, run.judge.hang.observe({ kind: 'tick', atMs: this.#now() }));
    }
  }

  /** What was found since the call before. */
  take(): readonly HealthWord[] {
    const words = this.#words;
    this.#words = [];
    return words;
  }

  get hasNews(): boolean {
    return this.#words.length > 0;
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#watched.delete(jobUid);
  }

  #watchedOf(run: RunOfRanks): Watched | undefined {
    const known = this.#watched.get(run.jobUid);
    if (known !== undefined && isLater(known, run)) return undefined;
    const watched = known !== undefined && !isLater(run, known) ? known : this.#watch(run);
    if (watched.judge === undefined && this.#now() - watched.askedAtMs >= ASK_AGAIN_MS) void this.#ask(watched);
    return watched;
  }

  #watch({ jobUid, epoch, incarnation }: RunOfRanks): Watched {
    const watched = {
      jobUid,
      epoch,
      incarnation,
      askedAtMs: Number.NEGATIVE_INFINITY,
      judge: undefined,
      speaking: new Set<number>(),
      verdicts: 0,
    };
    this.#watched.set(jobUid, watched);
    return watched;
  }

  async #ask(watched: Watched): Promise<void> {
    watched.askedAtMs = this.#now();
    const roster = await this.#roster(watched.jobUid);
    if (roster?.epoch !== watched.epoch || watched.judge !== undefined) return;
    const { layout, nodes } = roster;
    const gang = gangOf({ kind: 'header', version: 1, layout, nodes: [...nodes], reportEveryMs: REPORT_EVERY_MS });
    watched.judge = { gang, hang: hangDetector(gang, HEALTH_SETTINGS) };
  }

  #take({ jobUid, epoch, incarnation }: RunOfRanks, verdicts: readonly Verdict[]): void {
    const watched = this.#watched.get(jobUid);
    for (const verdict of verdicts) {
      if (watched === undefined || watched.verdicts >= MAX_VERDICTS) return;
      watched.verdicts += 1;
      this.#words.push({ jobUid, epoch, incarnation, verdict });
    }
  }
}

function isLater(one: RunOfRanks, other: RunOfRanks): boolean {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.incarnation > other.incarnation);
}

function declare(gang: Gang, { group, name, ranks }: ProcessGroup): void {
  gang.declare({ kind: 'group', group, name, ranks });
}
