/** Every rank exited with 0: did the job make what it was asked for? */
import { type Attempt, type CrashBlame, isAdopted, leftBehindIn, stepsOf } from '@coxswain/api-types';
import { classifyCrash, endOfLog, type EndOfLog } from '@coxswain/health';
import { safeText } from '@coxswain/safe-text';
import { MINUTE_MS, SECOND_MS } from '@coxswain/units';
import type { Failure } from '../failure/failure.ts';
import { LOG_HEADING } from '../failure/last-lines.ts';
import type { Facts } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { isOfFence } from '../observation/incarnation.ts';
import type { ObservedExit } from '../observation/observed.ts';
import type { JobRecord } from '../record/job-record.ts';
import { lastStepOf } from './last-step.ts';

type Work = NonNullable<NonNullable<ObservedExit['cause']>['work']>;

/** Importing PyTorch or JAX alone takes longer on one CPU. Ranks without a hook that used less have trained nothing. */
const LEAST_CPU_MS = 2 * SECOND_MS;
/**
 * The hook reports as soon as a program imports PyTorch, also one that trains with JAX or with an optimizer of its own. A pod that used more has worked
 * in a way that no hook observes, so missing steps and saves prove nothing: the interval between two saves may be longer than the run.
 */
const MOST_UNSEEN_CPU_MS = 30 * MINUTE_MS;
/** Starting, a barrier and a test of the network take fewer. Ranks that completed more have worked together in a way that reports no steps. */
const MOST_UNSEEN_COLLECTIVES = 1_000;

/**
 * The failure of an attempt that finished and made nothing that its job asked for; undefined: it made something, nothing was asked, or
 * it could not be observed. Coxswain observes steps by hooks, by calls of the engine and by step lines, and saves by files in the save
 * directory. A launcher of an earlier release reports none of that, and then its exit code counts.
 */
export function failureToTrain(record: JobRecord, facts: Facts, attempt: Attempt): Failure | undefined {
  const asked = askedOf(facts);
  if (asked === undefined || hasMadeSomething(record, facts)) return undefined;
  const work = workOf(facts, attempt);
  if (work === undefined || work.savedFiles) return undefined;
  const isVisible = work.stepsVisible || facts.spec?.checkpoint !== undefined;
  const isProven = !hasWorkedUnseen(work) && (isVisible || work.cpuMs < LEAST_CPU_MS);
  const lastLines = linesOf(facts, attempt);
  const end = endOfLog(lastLines);
  // Its log shows steps that Coxswain does not observe.
  const hasShownSteps = end.error === undefined && end.shownSteps > 1;
  if (!isProven || hasShownSteps) return undefined;
  const crash = { lastLines, exitCode: 0 };
  const isOfEnvironment = end.error !== undefined && !OF_PROGRAM.includes(classifyCrash(crash).blame);
  return {
    // An error of the environment may pass, whichever exit code hid it.
    reason: isOfEnvironment ? 'EngineFailed' : 'NothingTrained',
    message: describeNothing({ attempt, asked, missing: describeMissing(facts, work), end, lastLines }),
    crash,
  };
}

/** Whether ranks did so much that reports nothing that they may well have trained. */
function hasWorkedUnseen({ cpuMs, collectives = 0 }: Work): boolean {
  return cpuMs > MOST_UNSEEN_CPU_MS || collectives > MOST_UNSEEN_COLLECTIVES;
}

/** What would have shown that the job trained, and is missing. */
function describeMissing({ spec }: Facts, { stepsVisible, cpuMs, collectives = 0 }: Work): string {
  const steps = stepsVisible ? 'No rank reported a step' : 'No hook or engine of the ranks reported';
  const saves = spec?.checkpoint === undefined ? '' : ', no file lies in the save directory';
  return `${steps}${saves}, and the ranks completed ${collectives} collectives in ${(cpuMs / SECOND_MS).toFixed(1)} s of CPU time.`;
}

const OF_PROGRAM: readonly CrashBlame[] = ['program', 'unknown'];

function describeNothing(about: {
  readonly attempt: Attempt;
  readonly asked: string;
  readonly missing: string;
  readonly end: EndOfLog;
  readonly lastLines: readonly string[];
}): string {
  const { attempt, asked, missing, end, lastLines } = about;
  const nothing =
    end.shownSteps > 1
      ? 'Coxswain saw no step and no checkpoint of the job, although its log shows steps'
      : 'the job made no step and no checkpoint';
  const made = `Every rank of attempt ${attempt.epoch} exited with code 0, and ${nothing}; its spec asks for ${asked}. ${missing}`;
  const leftBehind = lastLines.flatMap((line) => leftBehindIn(line) ?? []).at(-1);
  const hidden = end.error === undefined ? undefined : `The exit code hides an error: ${asSentence(end.error)}`;
  const why =
    hidden ??
    leftBehind ??
    'Check what the program does with its arguments; a job that trains nothing sets spec.expects to Nothing.';
  const log = lastLines.length === 0 ? '' : `\n${LOG_HEADING}\n${lastLines.join('\n')}`;
  return `${made} ${why}${log}`;
}

/** Characters of an error that a sentence shows. */
const SHOWN_CHARACTERS = 300;

function asSentence(error: string): string {
  const text = safeText(error, SHOWN_CHARACTERS);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** The sentence of a complete job: how far it came, and what Coxswain could not observe. */
export function describeFinished(record: JobRecord, facts: Facts): string {
  const last = record.attempts.at(-1);
  const finished = `Every rank of attempt ${last?.epoch ?? record.epoch} finished.`;
  const asked = askedOf(facts);
  if (last === undefined || asked === undefined) return finished;
  const totalSteps = facts.spec === undefined ? undefined : stepsOf(facts.spec);
  const step = furthestStep(record, facts);
  const unsaved = hasSaved(record, facts) ? '' : describeUnsaved(facts, step);
  if (totalSteps !== undefined && step >= 0 && step < totalSteps) {
    const { error, isErrorLast } = endOfLog(linesOf(facts, last));
    const hidden = error !== undefined && isErrorLast ? ` Its log ends with an error: ${asSentence(error)}` : '';
    return `${finished} Its last reported step is ${step} of ${totalSteps}.${hidden}${unsaved}`;
  }
  if (hasMadeSomething(record, facts)) return `${finished}${unsaved}`;
  return `${finished} No step and no checkpoint of it was reported${whyUnseen(facts, last)}, so Coxswain cannot tell whether it made ${asked}.`;
}

function whyUnseen(facts: Facts, attempt: Attempt): string {
  const work = workOf(facts, attempt);
  if (work === undefined) return '';
  if (endOfLog(linesOf(facts, attempt)).shownSteps > 1) return ', although its log shows steps';
  if (work.savedFiles) return ', although files lie in its save directory';
  if (!work.stepsVisible) return ', and no hook or engine of its ranks reports steps';
  const { collectives = 0 } = work;
  const together = collectives === 0 ? '' : ` and completed ${collectives} collectives`;
  return `, although its ranks used ${(work.cpuMs / SECOND_MS).toFixed(0)} s of CPU time${together}`;
}

/** After a space: that a job that was asked for checkpoints and made steps saved none; empty if it was not asked, or made no step that was seen. */
function describeUnsaved({ spec }: Facts, step: number): string {
  if (spec?.checkpoint === undefined || spec.expects === 'Nothing' || step < 0) return '';
  const { everySteps } = spec.checkpoint;
  const why = everySteps === undefined || everySteps <= step ? '' : `: spec.checkpoint.everySteps is ${everySteps}`;
  return ` It saved no checkpoint${why}.`;
}

/** `500 steps`, `checkpoints`; undefined: the spec asks for nothing, or says that nothing is expected. */
function askedOf({ spec }: Facts): string | undefined {
  if (spec === undefined || spec.expects === 'Nothing') return undefined;
  const { training, checkpoint } = spec;
  const steps = stepsOf(spec);
  const length = training?.tokens === undefined ? `${steps ?? 0} steps` : `${training.tokens} tokens`;
  const asked = [training === undefined ? [] : length, checkpoint === undefined ? [] : 'checkpoints'].flat();
  return asked.length === 0 ? undefined : asked.join(' and ');
}

function hasMadeSomething(record: JobRecord, facts: Facts): boolean {
  const { attempts } = record;
  if (hasSaved(record, facts)) return true;
  const isSeen = attempts.some(({ trained, resumedFrom }) => trained !== undefined || resumedFrom !== undefined);
  return isSeen || furthestStep(record, facts) >= 0;
}

function hasSaved({ checkpoint, unrecordedCheckpoints }: JobRecord, facts: Facts): boolean {
  return (
    checkpoint !== undefined || facts.checkpoints.some((one) => !isAdopted(one)) || unrecordedCheckpoints.length > 0
  );
}

/** The furthest step of any attempt that was reported; -1: none. */
function furthestStep(record: JobRecord, facts: Facts): number {
  const ofAttempts = record.attempts.flatMap(({ firstStep, lastStep, incarnations = [] }) => [
    firstStep?.step ?? -1,
    lastStep ?? -1,
    ...incarnations.map((one) => one.lastStep ?? -1),
  ]);
  return Math.max(-1, record.progress?.step ?? -1, lastStepOf(record, facts).lastStep ?? -1, ...ofAttempts);
}

/** Last lines of the first pod that shows an error, else of the first one. */
function linesOf(facts: Facts, attempt: Attempt): readonly string[] {
  const all = podsOf(facts, attempt.epoch).flatMap(({ exit }) =>
    isOfFence(exit?.cause, attempt) ? [exit?.cause?.lastLines ?? []] : [],
  );
  return all.find((lines) => endOfLog(lines).error !== undefined) ?? all[0] ?? [];
}

/** What the launchers observed, together; undefined: one of them does not report it. CPU time and collectives are those of the busiest pod. */
function workOf(facts: Facts, attempt: Attempt): Work | undefined {
  const pods = podsOf(facts, attempt.epoch);
  const works = pods.flatMap(({ exit }) => (isOfFence(exit?.cause, attempt) ? (exit?.cause?.work ?? []) : []));
  if (works.length === 0 || works.length < pods.length) return undefined;
  return {
    stepsVisible: works.some(({ stepsVisible }) => stepsVisible),
    savedFiles: works.some(({ savedFiles }) => savedFiles),
    cpuMs: Math.max(...works.map(({ cpuMs }) => cpuMs)),
    collectives: Math.max(...works.map(({ collectives = 0 }) => collectives)),
  };
}
