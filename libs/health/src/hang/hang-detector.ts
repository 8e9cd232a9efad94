/** Does the job still go on, and if not, because of whom? */
import type { Gang } from '../gang/gang.ts';
import type { HealthSettings } from '../settings.ts';
import type { TraceRecord } from '../trace/records.ts';
import { ranksInWords, type Verdict, type VerdictDraft, verdictOf } from '../verdict/verdict.ts';
import { type Look, nameRoot } from './name-root.ts';
import { patienceOf } from './patience.ts';
import { silenceOf } from './silence.ts';
import { standingsOf, type Wait } from './rank-progress.ts';
import { placeName } from './walk.ts';

const CHECK_EVERY_MS = 1_000;
/** Of a large gang that stands still whoever waits waits in all that its host has called: a look takes a fifth of a second, and is not needed as often. */
const MANY_WAITS = 20_000;
const CHECK_MANY_EVERY_MS = 5_000;
/** The longest waits are next to the root; of a job that stands still, each rank has one. */
const MAX_WALKS = 64;
/** Of a look; a gang of 16,384 ranks has 33,000. Where the first walk names nobody, the next one may cross the gang again. */
const MAX_PLACES = 50_000;

export interface Detector {
  /** Verdicts of which this record was the last piece. The state behind it is its own: one detector for one run of the ranks. */
  readonly observe: (record: Exclude<TraceRecord, { kind: 'group' }>) => readonly Verdict[];
}

export function hangDetector(gang: Gang, settings: HealthSettings): Detector {
  const { hang } = settings;
  const patience = patienceOf(settings);
  const silence = silenceOf({
    reportEveryMs: gang.header.reportEveryMs,
    periods: hang.silentPeriods,
    mostPeriods: hang.mostSilentPeriods,
  });
  const standings = standingsOf(gang, patience, silence);
  /** What was said of this stop, and of silence, so that it is not said again. */
  const said = new Set<string>();
  let checkedAtMs = 0;
  let lateWaits = 0;
  let beganAtMs: number | undefined;

  const isSilent = (rank: number, nowMs: number): boolean =>
    (standings.silentMs(rank, nowMs) ?? nowMs - (beganAtMs ?? nowMs)) > silence.afterMs(nowMs);
  const once = (key: string, draft: VerdictDraft): readonly Verdict[] => {
    if (said.has(key)) return [];
    said.add(key);
    return [verdictOf(draft, gang.nodeOf)];
  };
  const forget = (prefix: string): void => {
    for (const key of said) if (key.startsWith(prefix)) said.delete(key);
  };

  const walkFrom = (waits: readonly Wait[], nowMs: number): readonly Verdict[] => {
    const view = { gang, standings, patience, nowMs, isUnheard: (rank: number) => isSilent(rank, nowMs) };
    const late = waits.filter((wait) => isTooLong(wait, nowMs));
    lateWaits = late.length;
    if (late.length === 0) forget('hang');
    const starts = [...new Map(late.map((wait) => [placeName(wait.group, wait.front), wait])).values()];
    starts.sort((a, b) => b.ageMs - a.ageMs);
    const look: Look = { explained: new Set(), places: 0 };
    const stopped = (starts[0]?.ageMs ?? 0) > patience.actAfterMs();
    return starts.slice(0, MAX_WALKS).flatMap((wait) => {
      if (look.places > MAX_PLACES) return [];
      return nameRoot(wait, view, look).flatMap(({ thenAction, ...named }) => {
        const action = stopped ? thenAction : 'advise';
        const evidence = { ...named.evidence, actAfterMs: Math.round(patience.actAfterMs()) };
        const isNetwork = named.kind === 'networkHang';
        const key = [isNetwork ? stopped : action, named.kind, named.ranks.join(), isNetwork ? named.group : ''];
        return once(`hang ${key.join(' ')}`, { ...named, atMs: nowMs, action, evidence });
      });
    });
  };
  const isTooLong = ({ rank, ageMs, key }: Wait, nowMs: number): boolean => {
    const phase = standings.watermarkOf(rank)?.phase;
    if (phase === undefined || isSilent(rank, nowMs)) return false;
    return ageMs > patience.nameAfterMs(key) && ageMs > patience.phaseMs(rank, phase);
  };

  const byProgress = (nowMs: number): readonly Verdict[] => {
    let newest = -1;
    let steppedAtMs = beganAtMs ?? nowMs;
    for (let rank = 0; rank < gang.ranks; rank += 1) {
      newest = Math.max(newest, standings.stepOf(rank));
      steppedAtMs = Math.max(steppedAtMs, standings.steppedAtMs(rank));
    }
    const stoodMs = nowMs - steppedAtMs;
    if (stoodMs <= patience.actAfterMs()) {
      forget('hang');
      return [];
    }
    const draft = stoodStill({ newest, stoodMs, nowMs });
    return draft.ranks.length === 0 && stoodMs <= patience.unknownMs() ? [] : once('hang progress', draft);
  };
  const stoodStill = (at: { newest: number; stoodMs: number; nowMs: number }): VerdictDraft => {
    const all = Array.from({ length: gang.ranks }, (_, rank) => rank);
    const silent = all.filter((rank) => isSilent(rank, at.nowMs));
    const behind = silent.length > 0 ? silent : all.filter((rank) => standings.stepOf(rank) < at.newest);
    const known = behind.length > 0 && behind.length <= gang.ranks / 2;
    const cause = silent.length > 0 ? 'noTelemetry' : 'stepBehind';
    return {
      kind: 'hang',
      atMs: at.nowMs,
      ranks: known ? behind : [],
      message: known
        ? `No step for ${Math.round(at.stoodMs / 1000)} s; ${ranksInWords(behind)} ${silent.length > 0 ? 'said nothing since' : `did not reach step ${at.newest}, which others did`}.`
        : `No step for ${Math.round(at.stoodMs / 1000)} s; all ranks are alike, and none tells how far it is inside a step, or whether it evaluates or saves.`,
      evidence: { cause: known ? cause : 'unknown', stoodMs: Math.round(at.stoodMs), newestStep: at.newest },
      confidence: known ? 0.7 : 0.3,
      action: known ? 'evict' : 'advise',
    };
  };

  /** Ranks of which nothing is heard are unknown, never healthy; and where that is most of them, nobody is judged. */
  const blindness = (nowMs: number): { readonly all: boolean; readonly verdicts: readonly Verdict[] } => {
    const silent: number[] = [];
    for (let rank = 0; rank < gang.ranks; rank += 1) if (isSilent(rank, nowMs)) silent.push(rank);
    const all = silent.length > gang.ranks / 2;
    if (silent.length === 0) forget('blind');
    const evidence = { silentRanks: silent.length, silentAfterMs: silence.afterMs(nowMs) };
    const draft = { kind: 'blind', atMs: nowMs, evidence, confidence: 1, action: 'none' } as const;
    if (all) {
      const message = `Nothing is heard of ${silent.length} of ${gang.ranks} ranks: how they are is unknown.`;
      return { all, verdicts: once('blind all', { ...draft, ranks: [], message }) };
    }
    const nodes = Map.groupBy(silent, (rank) => gang.nodeOf(rank) ?? `rank ${rank}`);
    const verdicts = [...nodes].flatMap(([node, ranks]) =>
      once(`blind ${node}`, {
        ...draft,
        ranks,
        message: `Nothing is heard of ${ranksInWords(ranks)}: how they are is unknown.`,
      }),
    );
    return { all, verdicts };
  };

  return {
    observe: (record) => {
      beganAtMs ??= record.atMs;
      standings.take(record);
      const checkEveryMs = lateWaits > MANY_WAITS ? CHECK_MANY_EVERY_MS : CHECK_EVERY_MS;
      if (record.atMs < checkedAtMs + checkEveryMs) return [];
      checkedAtMs = record.atMs;
      const { all, verdicts } = blindness(record.atMs);
      if (all) return verdicts;
      const stops = standings.hasWatermarks() ? walkFrom(standings.waits(), record.atMs) : byProgress(record.atMs);
      return [...stops, ...verdicts];
    },
  };
}
