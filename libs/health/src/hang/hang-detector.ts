/** Does the job still make progress, and if not, which rank holds it up? */
import type { Gang } from '../gang/gang.ts';
import type { HealthSettings } from '../settings.ts';
import type { TraceRecord } from '../trace/records.ts';
import { describeRanks, type Verdict, type VerdictDraft, verdictOf } from '../verdict/verdict.ts';
import { type Named, nameRoot, type WalkBudget } from './name-root.ts';
import { type Patience, patienceOf } from './patience.ts';
import { RankProgress, type Wait } from './rank-progress.ts';
import { type Silence, silenceOf } from './silence.ts';
import { placeName } from './walk.ts';

const CHECK_EVERY_MS = 1_000;
/** In a large gang that has stopped, every host waits in each collective that it has enqueued. A check then takes 0.2 s, so checks are rarer. */
const MANY_WAITS = 20_000;
const CHECK_MANY_EVERY_MS = 5_000;
/** Walks of one check, longest waits first: the longest waits are next to the root, and each rank of a stopped job has one. */
const MAX_WALKS = 64;
/** Places that the walks of one check may visit; a gang of 16,384 ranks has 33,000. If the first walk names no rank, the next may cross the gang again. */
const MAX_PLACES = 50_000;

/** Judges the records of one run of a job's ranks. A new run needs a new detector. */
export interface Detector {
  /** Takes one record into account and returns the verdicts that it completes. */
  readonly observe: (record: Exclude<TraceRecord, { kind: 'group' }>) => readonly Verdict[];
}

/** Where the gang was when it stopped. */
interface Stop {
  readonly newestStep: number;
  readonly stoodMs: number;
  readonly nowMs: number;
}

/** Finds stops of a gang and the ranks that caused them, from watermarks if ranks report them, else from steps. */
export class HangDetector implements Detector {
  readonly #gang: Gang;
  readonly #patience: Patience;
  readonly #silence: Silence;
  readonly #progress: RankProgress;
  /** Keys of the verdicts that were reported of this stop and of lost telemetry, so that none is reported twice, with where the named ranks were then. */
  readonly #reported = new Map<string, string>();
  #reportedBytes = 0;
  #checkedAtMs = 0;
  #lateWaits = 0;
  /** Index of the late wait from which the next check walks, longest first. */
  #walkFrom = 0;
  #beganAtMs: number | undefined;

  constructor(gang: Gang, settings: HealthSettings) {
    const { silentPeriods: periods, mostSilentPeriods: mostPeriods } = settings.hang;
    this.#gang = gang;
    this.#patience = patienceOf(settings);
    this.#silence = silenceOf({ reportEveryMs: gang.header.reportEveryMs, periods, mostPeriods });
    this.#progress = new RankProgress(gang, { patience: this.#patience, silence: this.#silence });
  }

  /** Memory that reports of ranks take, estimated. */
  get bytes(): number {
    return this.#progress.watermarkBytes + this.#patience.bytes() + this.#reportedBytes;
  }

  observe(record: Exclude<TraceRecord, { kind: 'group' }>): readonly Verdict[] {
    this.#beganAtMs ??= record.atMs;
    this.#progress.receive(record);
    const checkEveryMs = this.#lateWaits > MANY_WAITS ? CHECK_MANY_EVERY_MS : CHECK_EVERY_MS;
    if (record.atMs < this.#checkedAtMs + checkEveryMs) return [];
    this.#checkedAtMs = record.atMs;
    return this.#check(record.atMs);
  }

  /** If most ranks are silent nothing else is judged: their state is unknown, not healthy. */
  #check(nowMs: number): readonly Verdict[] {
    const silent = this.#ranks().filter((rank) => this.#isSilent(rank, nowMs));
    const losses = this.#telemetryLoss(silent, nowMs);
    if (isMost(silent, this.#gang)) return losses;
    const stops = this.#progress.hasWatermarks ? this.#judgeWaits(nowMs) : this.#judgeSteps(nowMs);
    return [...stops, ...losses];
  }

  #telemetryLoss(silent: readonly number[], nowMs: number): readonly Verdict[] {
    if (silent.length === 0) this.#forget('blind');
    const evidence = { silentRanks: silent.length, silentAfterMs: this.#silence.afterMs(nowMs) };
    const draft = { kind: 'blind', atMs: nowMs, evidence, confidence: 1, action: 'none' } as const;
    if (isMost(silent, this.#gang)) {
      const message = `${silent.length} of ${this.#gang.ranks} ranks no longer report, so their state is unknown.`;
      return this.#once('blind all', { ...draft, ranks: [], message });
    }
    const nodes = Map.groupBy(silent, (rank) => this.#gang.nodeOf(rank) ?? `rank ${rank}`);
    return [...nodes].flatMap(([node, ranks]) => {
      const message = `No reports from ${describeRanks(ranks)}, so their state is unknown.`;
      return this.#once(`blind ${node}`, { ...draft, ranks, message });
    });
  }

  /** Walks from the longest waits to their roots. */
  #judgeWaits(nowMs: number): readonly Verdict[] {
    const late = this.#progress.waits().filter((wait) => this.#isTooLong(wait, nowMs));
    this.#lateWaits = late.length;
    if (late.length === 0) this.#forget('hang');
    const starts = [...new Map(late.map((wait) => [placeName(wait.group, wait.front), wait])).values()];
    starts.sort((a, b) => b.ageMs - a.ageMs);
    const hasStopped = (starts[0]?.ageMs ?? 0) > this.#patience.actAfterMs();
    const from = this.#walkFrom < starts.length ? this.#walkFrom : 0;
    const isSilent = (rank: number): boolean => this.#isSilent(rank, nowMs);
    const view = { gang: this.#gang, progress: this.#progress, patience: this.#patience, nowMs, isSilent };
    const budget: WalkBudget = { explained: new Set(), places: 0 };
    const roots = starts.slice(from, from + MAX_WALKS).flatMap((wait, index) => {
      if (budget.places > MAX_PLACES) return [];
      this.#walkFrom = from + index + 1;
      return nameRoot(wait, view, budget);
    });
    // Long waits that have no root, as while a rank evaluates, must not hide a shorter one that has: the next check goes on behind them.
    if (roots.length > 0 || this.#walkFrom >= starts.length) this.#walkFrom = 0;
    return roots.flatMap((named) => this.#reportRoot(named, { hasStopped, nowMs }));
  }

  #reportRoot(
    { thenAction, ...named }: Named,
    { hasStopped, nowMs }: { readonly hasStopped: boolean; readonly nowMs: number },
  ): readonly Verdict[] {
    const action = hasStopped ? thenAction : 'advise';
    const evidence = { ...named.evidence, actAfterMs: Math.round(this.#patience.actAfterMs()) };
    const isNetwork = named.kind === 'networkHang';
    const key = [isNetwork ? hasStopped : action, named.kind, named.ranks.join(), isNetwork ? named.group : ''];
    // Other waits may go on for long. A named rank that has moved since and stands again is news.
    const where = named.ranks.map((rank) => this.#progress.placeOf(rank)).join();
    return this.#once(`hang ${key.join(' ')}`, { ...named, atMs: nowMs, action, evidence }, where);
  }

  #isTooLong({ rank, ageMs, key }: Wait, nowMs: number): boolean {
    const phase = this.#progress.watermarkOf(rank)?.phase;
    if (phase === undefined || this.#isSilent(rank, nowMs)) return false;
    return ageMs > this.#patience.nameAfterMs(key) && ageMs > this.#patience.phaseMs(rank, phase);
  }

  /** Without watermarks only steps show progress. */
  #judgeSteps(nowMs: number): readonly Verdict[] {
    let newestStep = -1;
    let steppedAtMs = this.#beganAtMs ?? nowMs;
    for (const rank of this.#ranks()) {
      newestStep = Math.max(newestStep, this.#progress.stepOf(rank));
      steppedAtMs = Math.max(steppedAtMs, this.#progress.steppedAtMs(rank));
    }
    const stoodMs = nowMs - steppedAtMs;
    if (stoodMs <= this.#patience.actAfterMs()) {
      this.#forget('hang');
      return [];
    }
    const draft = this.#draftStop({ newestStep, stoodMs, nowMs });
    const isTooEarly = draft.ranks.length === 0 && stoodMs <= this.#patience.unknownMs();
    return isTooEarly ? [] : this.#once('hang progress', draft);
  }

  #draftStop(stop: Stop): VerdictDraft {
    const all = this.#ranks();
    const silent = all.filter((rank) => this.#isSilent(rank, stop.nowMs));
    const behind = silent.length > 0 ? silent : all.filter((rank) => this.#progress.stepOf(rank) < stop.newestStep);
    const isNamed = behind.length > 0 && !isMost(behind, this.#gang);
    return isNamed ? namedStop(stop, behind, { areSilent: silent.length > 0 }) : unknownStop(stop);
  }

  #isSilent(rank: number, nowMs: number): boolean {
    const silentMs = this.#progress.silentMs(rank, nowMs) ?? nowMs - (this.#beganAtMs ?? nowMs);
    return silentMs > this.#silence.afterMs(nowMs);
  }

  #ranks(): readonly number[] {
    return Array.from({ length: this.#gang.ranks }, (_, rank) => rank);
  }

  #once(key: string, draft: VerdictDraft, where = ''): readonly Verdict[] {
    const before = this.#reported.get(key);
    if (before === where) return [];
    this.#reported.set(key, where);
    this.#reportedBytes += bytesOf(key) + bytesOf(where) - (before === undefined ? 0 : bytesOf(key) + bytesOf(before));
    return [verdictOf(draft, this.#gang.nodeOf)];
  }

  #forget(prefix: string): void {
    for (const [key, where] of this.#reported) {
      if (!key.startsWith(prefix)) continue;
      this.#reported.delete(key);
      this.#reportedBytes -= bytesOf(key) + bytesOf(where);
    }
  }
}

/** A key is ASCII, in an entry of a set. */
function bytesOf(key: string): number {
  return key.length + 64;
}

function isMost(some: readonly number[], { ranks }: Gang): boolean {
  return some.length > ranks / 2;
}

function namedStop(
  { newestStep, stoodMs, nowMs }: Stop,
  ranks: readonly number[],
  { areSilent }: { readonly areSilent: boolean },
): VerdictDraft {
  const what = areSilent ? 'have not reported since' : `did not reach step ${newestStep}, unlike other ranks`;
  return {
    kind: 'hang',
    atMs: nowMs,
    ranks,
    message: `No step for ${Math.round(stoodMs / 1000)} s; ${describeRanks(ranks)} ${what}.`,
    evidence: { cause: areSilent ? 'noTelemetry' : 'stepBehind', stoodMs: Math.round(stoodMs), newestStep },
    confidence: 0.7,
    action: 'evict',
  };
}

function unknownStop({ newestStep, stoodMs, nowMs }: Stop): VerdictDraft {
  return {
    kind: 'hang',
    atMs: nowMs,
    ranks: [],
    message: `No step for ${Math.round(stoodMs / 1000)} s; all ranks are at the same step, and none reports its position inside the step or whether it evaluates or saves.`,
    evidence: { cause: 'unknown', stoodMs: Math.round(stoodMs), newestStep },
    confidence: 0.3,
    action: 'advise',
  };
}
