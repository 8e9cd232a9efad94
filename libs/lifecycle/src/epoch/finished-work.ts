/** Every rank exited with 0: did the job make what it was asked for? */
import { type Attempt, stepsOf } from '@coxswain/api-types';
import { MINUTE_MS, SECOND_MS } from '@coxswain/units';
import type { Failure } from '../failure/failure.ts';
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
  if (hasWorkedUnseen(work) || !(isVisible || work.cpuMs < LEAST_CPU_MS)) return undefined;
  const message = `Every rank of attempt ${attempt.epoch} exited with code 0, and the job made no step and no checkpoint; its spec asks for ${asked}. ${describeMissing(facts, work)} Check what the program does with its arguments; a job that trains nothing sets spec.expects to Nothing.`;
  return { reason: 'NothingTrained', message, crash: { lastLines: [], exitCode: 0 } };
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
    return `${finished} Its last reported step is ${step} of ${totalSteps}.${unsaved}`;
  }
  if (hasMadeSomething(record, facts)) return `${finished}${unsaved}`;
  return `${finished} No step and no checkpoint of it was reported${whyUnseen(workOf(facts, last))}, so Coxswain cannot tell whether it made ${asked}.`;
}

function whyUnseen(work: Work | undefined): string {
  if (work === undefined) return '';
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
  return checkpoint !== undefined || facts.checkpoints.length > 0 || unrecordedCheckpoints.length > 0;
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
