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
 * in a way that no hook observes, so its missing steps prove nothing.
 */
const MOST_UNSEEN_CPU_MS = 30 * MINUTE_MS;

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
  const areStepsMissing = work.stepsVisible && work.cpuMs <= MOST_UNSEEN_CPU_MS;
  const isProven = areStepsMissing || facts.spec?.checkpoint !== undefined || work.cpuMs < LEAST_CPU_MS;
  if (!isProven) return undefined;
  const cpuSeconds = (work.cpuMs / SECOND_MS).toFixed(1);
  const message = `Every rank of attempt ${attempt.epoch} exited with code 0, and the job made no step and no checkpoint; its spec asks for ${asked}. The ranks used ${cpuSeconds} s of CPU time. Check what the program does with its arguments; a job that trains nothing sets spec.expects to Nothing.`;
  return { reason: 'NothingTrained', message, crash: { lastLines: [], exitCode: 0 } };
}

/** The sentence of a complete job: how far it came, and what Coxswain could not observe. */
export function describeFinished(record: JobRecord, facts: Facts): string {
  const last = record.attempts.at(-1);
  const finished = `Every rank of attempt ${last?.epoch ?? record.epoch} finished.`;
  const asked = askedOf(facts);
  if (last === undefined || asked === undefined) return finished;
  const totalSteps = facts.spec === undefined ? undefined : stepsOf(facts.spec);
  const step = furthestStep(record, facts);
  if (totalSteps !== undefined && step >= 0 && step < totalSteps) {
    return `${finished} Its last reported step is ${step} of ${totalSteps}.`;
  }
  if (hasMadeSomething(record, facts)) return finished;
  return `${finished} No step and no checkpoint of it was reported${whyUnseen(workOf(facts, last))}, so Coxswain cannot tell whether it made ${asked}.`;
}

function whyUnseen(work: Work | undefined): string {
  if (work === undefined) return '';
  if (work.savedFiles) return ', although files lie in its save directory';
  return work.stepsVisible
    ? `, although its ranks used ${(work.cpuMs / SECOND_MS).toFixed(0)} s of CPU time`
    : ', and no hook or engine of its ranks reports steps';
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
  const { attempts, checkpoint, unrecordedCheckpoints } = record;
  if (checkpoint !== undefined || facts.checkpoints.length > 0 || unrecordedCheckpoints.length > 0) return true;
  const isSeen = attempts.some(({ trained, resumedFrom }) => trained !== undefined || resumedFrom !== undefined);
  return isSeen || furthestStep(record, facts) >= 0;
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

/** What the launchers observed, together; undefined: one of them does not report it. CPU time is that of the busiest pod. */
function workOf(facts: Facts, attempt: Attempt): Work | undefined {
  const pods = podsOf(facts, attempt.epoch);
  const works = pods.flatMap(({ exit }) => (isOfFence(exit?.cause, attempt) ? (exit?.cause?.work ?? []) : []));
  if (works.length === 0 || works.length < pods.length) return undefined;
  return {
    stepsVisible: works.some(({ stepsVisible }) => stepsVisible),
    savedFiles: works.some(({ savedFiles }) => savedFiles),
    cpuMs: Math.max(...works.map(({ cpuMs }) => cpuMs)),
  };
}
