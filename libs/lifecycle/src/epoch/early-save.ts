/** Are the ranks of a gang to save now, before their next save is due, because something was seen that often comes before a failure? */
import { type Attempt, type EarlySave, type EngineName, MAX_SAVE_SUSPICIONS } from '@coxswain/api-types';
import { bestSaveIntervalMs } from '@coxswain/checkpoint';
import { safeText } from '@coxswain/safe-text';
import { type Suspicion, suspicionsOf } from '../disruption/suspicions.ts';
import { failureOf } from '../failure/failure.ts';
import { newestUsable } from '../failure/resume-point.ts';
import { meanStepMs } from '../incident/note-failure.ts';
import { type Facts, isTerminal } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { isOfFence } from '../observation/incarnation.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';

/** Between two requests of an attempt, and for how long a checkpoint is waited for: the saves of the largest models take minutes. */
export const EARLY_SAVE_INTERVAL_MS = 600_000;

/**
 * Until a gang fails of which something was seen, as far as a save is weighed: an assumption, since nobody has published it. What the weighing asks of it is little:
 * four times as long makes twice the work that has to be at stake.
 */
const SUSPECT_MTTF_MS = 3_600_000;

/** More of one kind at once, as an alarm of a whole rack, are asked for as one, so that they leave room for what is seen later. */
const MOST_OF_KIND = 3;

/** What is no longer seen, and was asked for longer ago, may ask again when it comes back. */
const FORGOTTEN_MS = 86_400_000;

/** By how much clocks of two leaders may differ. */
const CLOCK_SKEW_MS = 60_000;

/** None of these can be told to save and train on: their checkpoints come of their own counts of steps, and a signal saves and ends them. */
const ENGINES_THAT_CANNOT: readonly EngineName[] = [
  'megatron-lm',
  'megatron-bridge',
  'torchtitan',
  'deepspeed',
  'hugging-face',
];

/** What the answer stands on. */
export interface SaveQuestion {
  readonly engine: EngineName;
  /** The job keeps checkpoints. */
  readonly keepsCheckpoints: boolean;
  /** Suspicions that there are, in order, and keys (or `allOf` kinds) for which the ranks were asked before. */
  readonly suspicions: readonly Suspicion[];
  readonly askedFor: readonly string[];
  /** Since it was asked last; undefined: never. */
  readonly sinceAskedMs: number | undefined;
  /** It was asked, and neither a checkpoint nor the end of the wait for it has come. */
  readonly isOpen: boolean;
  /** Beyond the newest checkpoint that a restart could begin from, and how long such a step takes; undefined: not measured. */
  readonly unsavedSteps: number;
  readonly stepMs: number | undefined;
  /** How long a save holds training up; undefined: none was measured. */
  readonly stallMs: number | undefined;
}

export type SaveAnswer =
  | { readonly kind: 'ask'; readonly about: readonly Suspicion[] }
  | { readonly kind: 'leave'; readonly why: string }
  /** The last request, or the newest checkpoint, is too young. */
  | { readonly kind: 'later'; readonly inMs: number };

/**
 * A save is asked for where what would be trained again is more than what a save is worth by Young and Daly, for a gang that fails within the hour. Where less is at
 * stake it is looked at again when it may be so much. Where no save was measured there is none of this run, and the first one says what it costs.
 */
export function whetherToSave(question: SaveQuestion): SaveAnswer {
  const { suspicions, askedFor, sinceAskedMs, unsavedSteps, stepMs, stallMs } = question;
  const news = suspicions.filter((one) => !isAskedFor(one, askedFor));
  if (news.length === 0 || askedFor.length >= MAX_SAVE_SUSPICIONS) return leave('nothing new was seen');
  if (!question.keepsCheckpoints) return leave('the job keeps no checkpoints');
  if (ENGINES_THAT_CANNOT.includes(question.engine)) return leave('the engine cannot be asked');
  if (question.isOpen) return leave('it was asked already');
  // A request of a time to come was written by another clock, and holds nothing up.
  if (sinceAskedMs !== undefined && sinceAskedMs >= 0 && sinceAskedMs < EARLY_SAVE_INTERVAL_MS)
    return { kind: 'later', inMs: EARLY_SAVE_INTERVAL_MS - sinceAskedMs };
  if (unsavedSteps < 1) return leave('every step is saved');
  const missingMs = stallMs === undefined ? 0 : worthOf(stallMs) - unsavedSteps * (stepMs ?? 0);
  if (missingMs > 0) return { kind: 'later', inMs: missingMs };
  return { kind: 'ask', about: news };
}

/** Of training, beyond the newest checkpoint. */
function worthOf(stallMs: number): number {
  return bestSaveIntervalMs({ stallMs: Math.max(1, stallMs), meanTimeToFailureMs: SUSPECT_MTTF_MS });
}

function isAskedFor({ key, kind }: Suspicion, askedFor: readonly string[]): boolean {
  return askedFor.includes(key) || askedFor.includes(allOf(kind));
}

/** By which they are known as asked for: each by its key, and more than three of a kind by `all` and the kind. */
export function keysOf(news: readonly Suspicion[]): readonly string[] {
  return [...Map.groupBy(news, ({ kind }) => kind)].flatMap(([kind, ofKind]) =>
    ofKind.length > MOST_OF_KIND ? [allOf(kind)] : ofKind.map(({ key }) => key),
  );
}

function allOf(kind: string): string {
  return safeText(`all ${kind}`, 128);
}

/** With what it was asked for: all of it for a day, and then what is still seen. The same request where nothing is forgotten. */
function remembered(earlySave: EarlySave, suspicions: readonly Suspicion[], now: Date): EarlySave {
  if (now.getTime() - Date.parse(earlySave.askedAt) < FORGOTTEN_MS) return earlySave;
  const seen = new Set(suspicions.flatMap(({ key, kind }) => [key, allOf(kind)]));
  const kept = earlySave.suspicions.filter((key) => seen.has(key));
  return kept.length === earlySave.suspicions.length ? earlySave : { ...earlySave, suspicions: kept };
}

function leave(why: string): SaveAnswer {
  return { kind: 'leave', why };
}

/** The record with what came of the last request, or with a new one: launchers are told of it once it is recorded. */
export function recordEarlySave(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released' || attempt.firstStep === undefined) return record;
  const { earlySave } = attempt;
  if (earlySave !== undefined) {
    const closed = withOutcome(earlySave, { attempt, facts, now });
    const known = remembered(closed, suspicionsOf(record, facts, attempt), now);
    if (known !== earlySave) return withLastAttempt(record, { earlySave: known });
  }
  const step = stepOf(record, facts, attempt);
  const answer = whetherToSave(questionOf(record, { facts, attempt, now, step }));
  return answer.kind === 'ask' && goesOn(facts, attempt)
    ? withLastAttempt(record, { earlySave: requestOf(attempt, { about: answer.about, now, step }) })
    : record;
}

/** What ends in this very look is asked for nothing: it saves and stops, or there is nobody left to save. */
function goesOn(facts: Facts, attempt: Attempt): boolean {
  const isStopAsked = facts.deleting || facts.cancel || facts.suspend;
  return !isStopAsked && !podsOf(facts, attempt.epoch).some(isTerminal) && failureOf(facts, attempt) === undefined;
}

/** How long until it is to be looked at for this alone; undefined: not for this. */
export function earlySaveDueMs(record: JobRecord, facts: Facts, now: Date): number | undefined {
  const attempt = liveAttempt(record);
  const earlySave = attempt?.earlySave;
  if (attempt?.stage !== 'Released' || attempt.firstStep === undefined || earlySave === undefined) return undefined;
  if (isOpenRequest(earlySave, attempt)) return EARLY_SAVE_INTERVAL_MS - sinceMs(earlySave, now);
  const answer = whetherToSave(questionOf(record, { facts, attempt, now, step: stepOf(record, facts, attempt) }));
  return answer.kind === 'later' ? answer.inMs : undefined;
}

/** The request that launchers are to be told of; undefined: none, or what came of it is known, or it was of an earlier run of the ranks. */
export function openSaveRequest(attempt: Attempt): EarlySave | undefined {
  const { stage, earlySave } = attempt;
  return stage === 'Released' && earlySave !== undefined && isOpenRequest(earlySave, attempt) ? earlySave : undefined;
}

function isOpenRequest({ outcome, incarnation }: EarlySave, attempt: Attempt): boolean {
  return outcome === undefined && incarnation === (attempt.incarnation ?? 1);
}

/** The record with an end to what the ranks of an ended attempt were asked: everything that they saved is known by then. */
export function recordEndOfEarlySave(record: JobRecord, facts: Facts): JobRecord {
  const attempt = record.attempts.at(-1);
  if (attempt?.stage !== 'Ended' || attempt.earlySave?.outcome !== undefined) return record;
  const earlySave = endedSave(attempt, facts);
  return earlySave === undefined ? record : withLastAttempt(record, { earlySave });
}

/** What the ranks were asked, now that they have ended; what they saved because they were stopped is a save as well. undefined: they were asked nothing. */
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
  const given = sinceMs(earlySave, now) >= EARLY_SAVE_INTERVAL_MS ? notSaved : earlySave;
  return savedOf(earlySave, { attempt, facts }) ?? given;
}

/** With the first checkpoint that holds all that was known to be trained when it was asked; undefined: there is none yet. */
function savedOf(
  earlySave: EarlySave,
  { attempt, facts }: { readonly attempt: Attempt; readonly facts: Facts },
): EarlySave | undefined {
  const asked = { epoch: attempt.epoch, incarnation: earlySave.incarnation };
  const saved = facts.checkpoints.filter(({ spec }) => isOfFence(spec, asked) && spec.step >= earlySave.afterStep);
  if (saved.length === 0) return undefined;
  return { ...earlySave, outcome: 'Saved', savedStep: Math.min(...saved.map(({ spec }) => spec.step)) };
}

/** What was written by a clock that is far ahead is over. */
function sinceMs({ askedAt }: EarlySave, now: Date): number {
  const ms = now.getTime() - Date.parse(askedAt);
  return ms >= -CLOCK_SKEW_MS ? Math.max(0, ms) : EARLY_SAVE_INTERVAL_MS;
}

function requestOf(
  { incarnation = 1, earlySave }: Attempt,
  { about, now, step }: { readonly about: readonly Suspicion[]; readonly now: Date; readonly step: number },
): EarlySave {
  const [first] = about;
  const more = about.length === 1 ? '' : ` (and ${about.length - 1} more)`;
  return {
    request: (earlySave?.request ?? 0) + 1,
    incarnation,
    askedAt: now.toISOString(),
    afterStep: step,
    why: safeText(`${first?.says ?? ''}${more}.`, 512),
    suspicions: [...(earlySave?.suspicions ?? []), ...keysOf(about)].slice(0, MAX_SAVE_SUSPICIONS),
  };
}

/** Newest that is known of the run; what was saved of it was trained. */
function stepOf(record: JobRecord, { observed: { progress } }: Facts, attempt: Attempt): number {
  const heard = progress !== undefined && isOfFence(progress, attempt) ? progress.step : 0;
  return Math.max(heard, record.progress?.step ?? 0, attempt.firstStep?.step ?? 0);
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
    suspicions: suspicionsOf(record, facts, attempt),
    askedFor: earlySave?.suspicions ?? [],
    sinceAskedMs: earlySave === undefined ? undefined : now.getTime() - Date.parse(earlySave.askedAt),
    isOpen: earlySave !== undefined && isOpenRequest(earlySave, attempt),
    unsavedSteps: step - from,
    stepMs: timed === undefined ? meanStepMs(attempt, now.toISOString(), step) : timed.inStepsMs / timed.steps,
    stallMs: saved === undefined ? undefined : saved.betweenStepsMs / saved.saves,
  };
}
