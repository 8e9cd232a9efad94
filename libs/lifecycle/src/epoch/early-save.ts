/** Should the ranks of a gang save now, before their next save is due, because of a sign that often precedes a failure? */
import { type Attempt, type EarlySave, type EngineName, MAX_SAVE_SUSPICIONS } from '@coxswain/api-types';
import { bestSaveIntervalMs, isFoundBroken } from '@coxswain/checkpoint';
import { safeText } from '@coxswain/safe-text';
import { canSaveOnRequest } from '../disruption/save-on-request.ts';
import { type Suspicion, suspicionsOf } from '../disruption/suspicions.ts';
import { failureOf } from '../failure/failure.ts';
import { newestUsable } from '../failure/resume-point.ts';
import { meanStepMs } from '@coxswain/scheduling';
import { type Facts, isTerminal } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { isOfFence } from '../observation/incarnation.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';

/**
 * Shortest time between two requests of an attempt, and how long a request waits for its checkpoint, because the largest saves take
 * minutes.
 */
export const EARLY_SAVE_INTERVAL_MS = 600_000;

/**
 * Assumed mean time until a suspect gang fails; nobody has published a figure. The decision depends on it little: a value four times as
 * large only doubles the work that must be at stake.
 */
const SUSPECT_MTTF_MS = 3_600_000;

/** More suspicions of one kind at once, such as an alarm of a rack, become one request, so that they leave room for later ones. */
const MAX_OF_KIND = 3;

/** A suspicion that has passed may lead to a new request after this time. */
const FORGOTTEN_MS = 86_400_000;

/** How far the clocks of two leaders may differ. */
const CLOCK_SKEW_MS = 60_000;

/** What the decision depends on. */
export interface SaveQuestion {
  readonly engine: EngineName;
  /** Whether the job keeps checkpoints. */
  readonly keepsCheckpoints: boolean;
  /** Present suspicions, in order; and keys (or `allOf` kinds) that earlier requests have covered. */
  readonly suspicions: readonly Suspicion[];
  readonly askedFor: readonly string[];
  /** Time since the last request; undefined: there was none. */
  readonly sinceAskedMs: number | undefined;
  /** Whether the last request has neither a checkpoint nor timed out. */
  readonly isOpen: boolean;
  /** Steps beyond the newest usable checkpoint, and the duration of one; undefined: not measured. */
  readonly unsavedSteps: number;
  readonly stepMs: number | undefined;
  /** How long a save stalls training; undefined: not measured. */
  readonly stallMs: number | undefined;
}

/** The decision about an early save. */
export type SaveAnswer =
  | { readonly kind: 'ask'; readonly about: readonly Suspicion[] }
  | { readonly kind: 'leave'; readonly why: string }
  /** The last request or the newest checkpoint is too recent. */
  | { readonly kind: 'later'; readonly inMs: number };

/**
 * Decides whether to request a save. It is requested if the work at stake exceeds what a save is worth by Young and Daly, for a gang that
 * fails within the hour. If less is at stake, the decision is due again when it may be enough. If no save was measured, this run has made
 * none, so the first save shows its cost. An end that is certain is worth a save of any step that is not saved.
 */
export function decideSave(question: SaveQuestion): SaveAnswer {
  const { suspicions, askedFor, sinceAskedMs, unsavedSteps, stepMs, stallMs } = question;
  const news = suspicions.filter((one) => !isAskedFor(one, askedFor));
  if (news.length === 0) return leave('nothing new was seen');
  if (!question.keepsCheckpoints) return leave('the job keeps no checkpoints');
  if (!canSaveOnRequest(question.engine)) return leave('the engine cannot be asked');
  if (question.isOpen) return leave('it was asked already');
  // A request with a time in the future was written by another clock, and delays nothing.
  const isCertain = news.some((one) => one.isCertain === true);
  if (!isCertain && sinceAskedMs !== undefined && sinceAskedMs >= 0 && sinceAskedMs < EARLY_SAVE_INTERVAL_MS)
    return { kind: 'later', inMs: EARLY_SAVE_INTERVAL_MS - sinceAskedMs };
  if (unsavedSteps < 1) return leave('every step is saved');
  const missingMs = isCertain || stallMs === undefined ? 0 : worthOf(stallMs) - unsavedSteps * (stepMs ?? 0);
  if (missingMs > 0) return { kind: 'later', inMs: missingMs };
  return { kind: 'ask', about: news };
}

/** Work that must be at stake, in milliseconds of training since the newest checkpoint. */
function worthOf(stallMs: number): number {
  return bestSaveIntervalMs({ stallMs: Math.max(1, stallMs), meanTimeToFailureMs: SUSPECT_MTTF_MS });
}

function isAskedFor({ key, kind }: Suspicion, askedFor: readonly string[]): boolean {
  return askedFor.includes(key) || askedFor.includes(allOf(kind));
}

/** Keys that record suspicions as covered: each by its key, and more than three of a kind by `all` and the kind. */
export function keysOf(news: readonly Suspicion[]): readonly string[] {
  return [...Map.groupBy(news, ({ kind }) => kind)].flatMap(([kind, ofKind]) =>
    ofKind.length > MAX_OF_KIND ? [allOf(kind)] : ofKind.map(({ key }) => key),
  );
}

/**
 * Keys that status keeps as covered, earlier ones and those of the news. Status has room for few. If they do not fit, past suspicions are dropped first,
 * and then those of one kind become one key. The bound never decides: a dropped suspicion may lead to another request after the usual interval.
 */
export function coveredBy(
  earlier: readonly string[],
  news: readonly Suspicion[],
  present: readonly Suspicion[],
): string[] {
  const covered = [...earlier, ...keysOf(news)];
  if (covered.length <= MAX_SAVE_SUSPICIONS) return covered;
  const kindOf = new Map(present.flatMap(({ key, kind }) => [[key, kind] as const, [allOf(kind), kind] as const]));
  const lasting = covered.filter((key) => kindOf.has(key));
  if (lasting.length <= MAX_SAVE_SUSPICIONS) return lasting;
  const kinds = lasting.flatMap((key) => kindOf.get(key) ?? []);
  return [...new Set(kinds.map(allOf))].slice(-MAX_SAVE_SUSPICIONS);
}

function allOf(kind: string): string {
  return safeText(`all ${kind}`, 128);
}

/**
 * The request with its covered suspicions: all of them for a day, then only those that are still present. The same object if none is
 * dropped.
 */
function remembered(earlySave: EarlySave, suspicions: readonly Suspicion[], now: Date): EarlySave {
  if (now.getTime() - Date.parse(earlySave.askedAt) < FORGOTTEN_MS) return earlySave;
  const seen = new Set(suspicions.flatMap(({ key, kind }) => [key, allOf(kind)]));
  const kept = earlySave.suspicions.filter((key) => seen.has(key));
  return kept.length === earlySave.suspicions.length ? earlySave : { ...earlySave, suspicions: kept };
}

function leave(why: string): SaveAnswer {
  return { kind: 'leave', why };
}

/** The record with the last request's outcome, or with a new request. Launchers get the request once it is recorded. */
export function recordEarlySave(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released' || attempt.firstStep === undefined) return record;
  const { earlySave } = attempt;
  if (earlySave !== undefined) {
    const closed = withOutcome(earlySave, { attempt, facts, now });
    const known = remembered(closed, suspicionsOf(record, facts, { attempt, now }), now);
    if (known !== earlySave) return withLastAttempt(record, { earlySave: known });
  }
  const step = stepOf(record, facts, attempt);
  const question = questionOf(record, { facts, attempt, now, step });
  const answer = decideSave(question);
  const { suspicions: present } = question;
  return answer.kind === 'ask' && goesOn(facts, attempt)
    ? withLastAttempt(record, { earlySave: requestOf(attempt, { about: answer.about, present, now, step }) })
    : record;
}

/** Whether the gang continues. A gang that ends in this reconciliation gets no request: it saves and stops, or cannot save. */
function goesOn(facts: Facts, attempt: Attempt): boolean {
  const isStopAsked = facts.deleting || facts.cancel || facts.suspend;
  return !isStopAsked && !podsOf(facts, attempt.epoch).some(isTerminal) && failureOf(facts, attempt) === undefined;
}

/** Milliseconds until an early save is to be decided again; undefined: no time is set. */
export function earlySaveDueMs(record: JobRecord, facts: Facts, now: Date): number | undefined {
  const attempt = liveAttempt(record);
  const earlySave = attempt?.earlySave;
  if (attempt?.stage !== 'Released' || attempt.firstStep === undefined || earlySave === undefined) return undefined;
  if (isOpenRequest(earlySave, attempt)) return EARLY_SAVE_INTERVAL_MS - sinceMs(earlySave, now);
  const answer = decideSave(questionOf(record, { facts, attempt, now, step: stepOf(record, facts, attempt) }));
  return answer.kind === 'later' ? answer.inMs : undefined;
}

/** The request to send to launchers; undefined: there is none, its outcome is known, or it belongs to an earlier run. */
export function openSaveRequest(attempt: Attempt): EarlySave | undefined {
  const { stage, earlySave } = attempt;
  return stage === 'Released' && earlySave !== undefined && isOpenRequest(earlySave, attempt) ? earlySave : undefined;
}

function isOpenRequest({ outcome, incarnation }: EarlySave, attempt: Attempt): boolean {
  return outcome === undefined && incarnation === (attempt.incarnation ?? 1);
}

/** The record with the outcome of an ended attempt's request; by then all its saves are known. */
export function recordEndOfEarlySave(record: JobRecord, facts: Facts): JobRecord {
  const attempt = record.attempts.at(-1);
  if (attempt?.stage !== 'Ended' || attempt.earlySave?.outcome !== undefined) return record;
  const earlySave = endedSave(attempt, facts);
  return earlySave === undefined ? record : withLastAttempt(record, { earlySave });
}

/** The request with its outcome after the ranks have ended. A save at their stop counts too. undefined: there was no request. */
export function endedSave(attempt: Attempt, facts: Facts): EarlySave | undefined {
  const { earlySave } = attempt;
  if (earlySave === undefined || earlySave.outcome !== undefined) return earlySave;
  return savedOf(earlySave, { attempt, facts }) ?? { ...earlySave, outcome: 'RanksEnded' };
}

function withOutcome(
  earlySave: EarlySave,
  { attempt, facts, now }: { readonly attempt: Attempt; readonly facts: Facts; readonly now: Date },
): EarlySave {
  if (!isOpenRequest(earlySave, attempt)) return earlySave;
  const notSaved = { ...earlySave, outcome: 'NotSaved' as const };
  const current = sinceMs(earlySave, now) >= EARLY_SAVE_INTERVAL_MS ? notSaved : earlySave;
  return savedOf(earlySave, { attempt, facts }) ?? current;
}

/** The request with the first checkpoint that holds every step known at the request; undefined: there is none yet. */
function savedOf(
  earlySave: EarlySave,
  { attempt, facts }: { readonly attempt: Attempt; readonly facts: Facts },
): EarlySave | undefined {
  const asked = { epoch: attempt.epoch, incarnation: earlySave.incarnation };
  const saved = facts.checkpoints.filter(
    (one) => isOfFence(one.spec, asked) && one.spec.step >= earlySave.afterStep && !isFoundBroken(one),
  );
  if (saved.length === 0) return undefined;
  return { ...earlySave, outcome: 'Saved', savedStep: Math.min(...saved.map(({ spec }) => spec.step)) };
}

/** Time since the request; a request by a clock that is far ahead counts as expired. */
function sinceMs({ askedAt }: EarlySave, now: Date): number {
  const ms = now.getTime() - Date.parse(askedAt);
  return ms >= -CLOCK_SKEW_MS ? Math.max(0, ms) : EARLY_SAVE_INTERVAL_MS;
}

function requestOf(
  { incarnation = 1, earlySave }: Attempt,
  {
    about,
    present,
    now,
    step,
  }: {
    readonly about: readonly Suspicion[];
    /** All present suspicions. */
    readonly present: readonly Suspicion[];
    readonly now: Date;
    readonly step: number;
  },
): EarlySave {
  const [first] = about;
  const more = about.length === 1 ? '' : ` (and ${about.length - 1} more)`;
  return {
    request: (earlySave?.request ?? 0) + 1,
    incarnation,
    askedAt: now.toISOString(),
    afterStep: step,
    why: safeText(`${first?.says ?? ''}${more}.`, 512),
    suspicions: coveredBy(earlySave?.suspicions ?? [], about, present),
  };
}

/** The newest known step of the run. */
function stepOf(record: JobRecord, { observed: { progress } }: Facts, attempt: Attempt): number {
  const reported = progress !== undefined && isOfFence(progress, attempt) ? progress.step : 0;
  return Math.max(reported, record.progress?.step ?? 0, attempt.firstStep?.step ?? 0);
}

function questionOf(
  record: JobRecord,
  about: { readonly facts: Facts; readonly attempt: Attempt; readonly now: Date; readonly step: number },
): SaveQuestion {
  const { facts, attempt, now, step } = about;
  const { spec } = facts;
  const { earlySave } = attempt;
  const from = Math.max(newestUsable(record, facts)?.spec.step ?? 0, attempt.resumedFrom?.step ?? 0);
  const paces = record.attempts.flatMap(({ pace }) => (pace === undefined ? [] : [pace]));
  const timed = paces.findLast(({ steps }) => steps > 0);
  const saved = paces.findLast(({ saves }) => saves > 0);
  return {
    engine: spec?.engine.name ?? 'command',
    keepsCheckpoints: spec?.checkpoint !== undefined,
    suspicions: suspicionsOf(record, facts, { attempt, now }),
    askedFor: earlySave?.suspicions ?? [],
    sinceAskedMs: earlySave === undefined ? undefined : now.getTime() - Date.parse(earlySave.askedAt),
    isOpen: earlySave !== undefined && isOpenRequest(earlySave, attempt),
    unsavedSteps: step - from,
    stepMs: timed === undefined ? meanStepMs(attempt, now.toISOString(), step) : timed.inStepsMs / timed.steps,
    stallMs: saved === undefined ? undefined : saved.betweenStepsMs / saved.saves,
  };
}
