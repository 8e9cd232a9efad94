/** How many steps did a gang lose that was asked to save and stop, and why? */
import type { Attempt, LostWork, StopFacts, TerminationCause } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import { formatDuration } from '@coxswain/units';
import type { Facts } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { isOfFence } from '../observation/incarnation.ts';
import { refusalOf } from '../failure/unmade-checkpoints.ts';
import type { JobRecord } from '../record/job-record.ts';

/** Outcomes of gangs that save, and that another attempt continues. A run that reached its limit may be continued by another job. */
const CONTINUED: readonly Attempt['outcome'][] = ['Suspended', 'Resized', 'Moved'];

/** The steps after the newest checkpoint that can be used; undefined: none are lost. `attempt` with its last step. */
export function lostWorkOf(record: JobRecord, facts: Facts, attempt: Attempt): LostWork | undefined {
  const { outcome, reason, lastStep } = attempt;
  const mayContinue = CONTINUED.includes(outcome) || reason === 'MaxRuntimeReached';
  if (!mayContinue || lastStep === undefined) return undefined;
  const { checkpoint } = record;
  const steps = lastStep - (checkpoint?.step ?? 0);
  if (steps <= 0 || hasSavedLastStep(record, facts, attempt)) return undefined;
  const saved = checkpoint === undefined ? {} : { savedStep: checkpoint.step };
  return { steps, ...saved, why: safeText(whyLost(record, facts, attempt), 512) };
}

/** Whether the rank that saved has saved its own last step after SIGTERM. Ranks that were a step ahead go back to it. */
function hasSavedLastStep({ checkpoint }: JobRecord, facts: Facts, attempt: Attempt): boolean {
  const isOfAttempt = facts.checkpoints.some(
    ({ metadata, spec }) => metadata.name === checkpoint?.name && spec.epoch === attempt.epoch,
  );
  return isOfAttempt && causesOf(facts, attempt).some(({ stop }) => stop?.save?.stepsAfter === 0);
}

/** What the record of an ended attempt says of it: the facts, and a sentence in its message. */
export function lostFields(record: JobRecord, facts: Facts, attempt: Attempt): Pick<Attempt, 'lostWork' | 'message'> {
  const lostWork = lostWorkOf(record, facts, attempt);
  if (lostWork === undefined) return {};
  return { lostWork, message: [attempt.message ?? [], describeLostWork(lostWork)].flat().join(' ') };
}

/** `40 steps since the checkpoint of step 50 are lost. SIGTERM ended 2 processes at once, ...` */
export function describeLostWork({ steps, savedStep, why }: LostWork): string {
  const lost = steps === 1 ? '1 step is lost' : `${steps} steps are lost`;
  const since = savedStep === undefined ? '; there is no checkpoint' : ` since the checkpoint of step ${savedStep}`;
  return `${lost}${since}. ${why}`;
}

function whyLost(record: JobRecord, facts: Facts, attempt: Attempt): string {
  const refused = record.unrecordedCheckpoints.findLast(({ spec }) => spec.epoch === attempt.epoch);
  if (refused !== undefined) {
    const refusal = refusalOf(facts, refused.name)?.message ?? refused.refusal;
    return `The API server refuses the object of the checkpoint of step ${refused.spec.step}, and Coxswain retries: ${refusal}`;
  }
  const causes = causesOf(facts, attempt);
  const reported = causes.flatMap(({ stop }) => stop ?? []);
  const [first] = causes;
  if (reported.length > 0) return whyNotSaved(reported, facts);
  if (first === undefined) return 'No launcher reported how its ranks ended.';
  return `As the launcher on node ${first.node} reported: ${first.message}.`;
}

function causesOf(facts: Facts, attempt: Attempt): readonly TerminationCause[] {
  return podsOf(facts, attempt.epoch).flatMap(({ exit }) =>
    exit?.cause !== undefined && isOfFence(exit.cause, attempt) ? [exit.cause] : [],
  );
}

/** The first sentence that holds for any pod of the gang: a save needs all ranks. */
function whyNotSaved(stops: readonly StopFacts[], { gracePeriodSeconds, spec }: Facts): string {
  const saving = stops.find(({ save }) => save !== undefined && save.endedMs === undefined);
  const killed = stops.find((stop) => stop.killed);
  const grace = `terminationGracePeriodSeconds is ${gracePeriodSeconds}`;
  if (saving !== undefined && killed !== undefined) {
    const after = formatDuration(killed.tookMs - (saving.save?.beganMs ?? 0));
    return `The save had taken ${after} when the ranks were killed, and was not complete: ${grace}. Raise it, or make the save faster.`;
  }
  if (killed !== undefined)
    return `The ranks had not ended ${formatDuration(killed.tookMs)} after SIGTERM and were killed: ${grace}. Raise it if the program saves more slowly; else end the program on SIGTERM.`;
  const unhandled = stops.reduce((sum, stop) => sum + stop.unhandled, 0);
  if (unhandled > 0) {
    const which = unhandled === 1 ? 'a process that has' : `${unhandled} processes that have`;
    return `SIGTERM ended ${which} no handler for it, so nothing was saved. Save on SIGTERM, or save more often${everySteps(spec)}.`;
  }
  if (stops.some(({ save }) => (save?.stepsAfter ?? 0) > 0))
    return `The save that ended after SIGTERM was of an older step. Save on SIGTERM, or save more often${everySteps(spec)}.`;
  const tookMs = Math.max(...stops.map((stop) => stop.tookMs));
  return `The ranks ended ${formatDuration(tookMs)} after SIGTERM and reported no complete save. Save on SIGTERM and exit with 75, or save more often${everySteps(spec)}.`;
}

function everySteps(spec: Facts['spec']): string {
  const every = spec?.checkpoint?.everySteps;
  return every === undefined ? '' : ` (checkpoint.everySteps is ${every})`;
}
