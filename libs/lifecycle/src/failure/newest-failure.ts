/** What is the cause of a job's newest failure, what follows from it, and what does a person do next? */
import {
  type Attempt,
  type AttemptReason,
  CRASH_CLASSES,
  EXIT_CODES,
  type EndedIncarnation,
  type FailureJudgement,
  type JobFailure,
  nameOfRun,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { lastErrorOf } from '@coxswain/health';
import { safeText } from '@coxswain/safe-text';
import { attemptsIn } from '../record/job-record.ts';
import { hasRunNothing } from './restart-budget.ts';
import { LOG_HEADING, tracebackOf } from './last-lines.ts';

/** What the cause is read from. */
export interface FailedJob {
  readonly name: string;
  readonly state: string;
  /** Oldest first; unreadable ones are left out. */
  readonly attempts: readonly Attempt[];
  readonly notBefore?: TrainingJobStatus['notBefore'] | undefined;
}

type Run = Pick<Attempt, 'message' | 'judgement' | 'origin'> & {
  readonly reason: AttemptReason;
  readonly name: string;
  readonly epoch: number;
  readonly at: string;
  readonly lastLines?: readonly string[] | undefined;
  readonly restartsInPods: boolean;
  /** Whether no later run has started all its ranks. */
  readonly isUnanswered: boolean;
};

/** The newest failure of the job, for every surface that shows it; null: none is recorded. Text that ranks wrote is made safe. */
export function newestFailure(job: FailedJob): JobFailure | null {
  const run = newestRun(job);
  if (run === undefined) return null;
  const [how = '', ...log] = (run.message ?? 'The reason was not recorded.').split('\n');
  const lastLines = tracebackOf(run.lastLines ?? log.filter((line) => line !== LOG_HEADING));
  const { rank = null, pod = null, node = null, exitCode = null, signal = null } = run.origin ?? {};
  const isFinal = job.state === 'Failed' && run.isUnanswered;
  const waits = run.isUnanswered && !isFinal && job.state === 'Restarting';
  return {
    attempt: run.name,
    at: run.at,
    isFinal,
    verdict: verdictOf(how, lastLines),
    reason: run.reason,
    rank,
    pod,
    node,
    exitCode,
    signal,
    class: run.judgement?.class ?? null,
    blame: run.judgement?.blame ?? null,
    lastLines: [...lastLines],
    answer: isFinal ? whyEnded(run) : howItGoesOn(run, job.state),
    nextAttemptAt: waits ? (job.notBefore ?? null) : null,
    advice: adviceOf(run, { isFinal, job, hasLog: lastLines.length > 0 }),
  };
}

const MAX_VERDICT_CHARACTERS = 1_000;
/** Of an error that the message of an attempt may hold already. */
const MAX_SHOWN_ERROR = 300;

/** `Rank 1 on node gpu-b exited with code 1: ValueError: planted.` */
function verdictOf(how: string, lastLines: readonly string[]): string {
  const error = lastErrorOf(lastLines);
  const isSaid = error === undefined || how.includes(safeText(error, MAX_SHOWN_ERROR));
  const sentence = isSaid ? how : `${how.replace(/\.$/, '')}: ${error}`;
  const safe = safeText(sentence.replaceAll('\n', ' ').trim(), MAX_VERDICT_CHARACTERS);
  return /[.!?…]$/.test(safe) ? safe : `${safe}.`;
}

/** The newest attempts that are searched. A status holds no more. */
const MAX_SEARCHED = 20;

function newestRun({ attempts }: FailedJob): Run | undefined {
  let later: Attempt | undefined;
  for (const entry of attempts.slice(-MAX_SEARCHED).toReversed()) {
    // Another release or a person may have written it; what cannot be read is left out.
    const [attempt] = attemptsIn([entry]);
    if (attempt === undefined) continue;
    if (isFailure(attempt)) return runOfAttempt(attempt, later?.runningAt === undefined);
    const ended = attempt.incarnations?.at(-1);
    if (ended !== undefined)
      return runOfIncarnation(attempt, ended, later === undefined && attempt.runningAt === undefined);
    later = attempt;
  }
  return undefined;
}

/** Whether ranks of it could fail: an attempt that has run nothing waits for room. */
function isFailure({ outcome, reason, answer }: Attempt): boolean {
  return outcome === 'Failed' && (answer === 'GiveUp' || !hasRunNothing(reason));
}

function runOfAttempt(attempt: Attempt, isUnanswered: boolean): Run {
  const { epoch, incarnation, reason = 'LauncherFailed', stoppingAt, startedAt } = attempt;
  const about = { name: nameOfRun(epoch, incarnation), epoch, at: stoppingAt ?? startedAt, restartsInPods: false };
  return { ...attempt, ...about, reason, isUnanswered };
}

function runOfIncarnation({ epoch }: Attempt, ended: EndedIncarnation, isUnanswered: boolean): Run {
  const about = { name: nameOfRun(epoch, ended.incarnation), epoch, at: ended.endedAt, restartsInPods: true };
  return { ...ended, ...about, isUnanswered };
}

const WHY_GIVEN_UP: Readonly<Record<NonNullable<FailureJudgement['givenUp']>, string>> = {
  RestartsExhausted: 'its restarts are spent',
  NoProgress: 'repeated restarts made no progress',
  SameTraceback: 'it raised the same exception on two nodes before its first step',
  FailurePolicy: 'a rule of its failure policy does not restart this failure',
};

function whyEnded({ judgement, reason }: Run): string {
  if (reason === 'DoNotRestart') return 'The job ended because the program asked for no restart (exit code 93).';
  if (reason === 'NothingTrained' && judgement?.givenUp === undefined) {
    return 'The job ended because it trained nothing, and another attempt would do the same.';
  }
  return `The job ended because ${WHY_GIVEN_UP[judgement?.givenUp ?? 'RestartsExhausted']}.`;
}

function howItGoesOn({ epoch, restartsInPods, isUnanswered }: Run, state: string): string {
  if (state === 'Suspending' || state === 'Suspended') return 'The job is suspended and starts when it is resumed.';
  if (!isUnanswered) return restartsInPods ? 'The ranks restarted in their pods.' : `Attempt ${epoch + 1} followed.`;
  if (state === 'Cancelled' || state === 'Stopping') return 'No attempt follows, because the job stops.';
  if (restartsInPods) return 'The ranks restart in their pods.';
  // It may wait for GPUs.
  return `Attempt ${epoch + 1} ${state === 'Starting' ? 'starts' : 'follows'}.`;
}

/** What to do about ends that no log explains. The others have the advice of their crash class. */
const ADVICE_OF_REASON: Readonly<Partial<Record<AttemptReason, string>>> = {
  NodeLost: 'Ask an administrator to check the named node.',
  PodLost: 'Find out who deleted the pod: `kubectl get events` and the audit log of the cluster show it.',
  PodNeverRan: 'Find out who deleted the pod: `kubectl get events` and the audit log of the cluster show it.',
  NotCreated: 'Ask an administrator which quota or policy keeps the pods from being created.',
  NotScheduled: 'Ask an administrator for the taints of the named nodes and the pods on them.',
  NotStarted:
    'Check the image, the claims and the Secrets of the job: `kubectl describe pod` has the words of the node.',
  SecretMissing: 'Create the Secret with its key, or correct the reference in spec.engine.',
  Hung: 'Compare the last operations of the ranks: `coxswain incidents` lists them.',
  NothingTrained: 'Check what the program did: its log shows it. A job that trains nothing sets `expects: Nothing`.',
  PreflightFailed: 'Ask an administrator to check the named node.',
};

/** Launchers that reach no operator say why in the message. */
const ADVICE_OF_UNREACHABLE =
  'If the certificate is not valid yet or has expired, correct the clock of the pod or its node. Otherwise check NetworkPolicies, proxies and name resolution between the pod and the operator.';

function adviceOf(
  { reason, judgement, origin, epoch }: Run,
  { isFinal, job, hasLog }: { readonly isFinal: boolean; readonly job: FailedJob; readonly hasLog: boolean },
): string {
  const kind = judgement?.class ?? 'Unknown';
  const isUnreachable = origin?.exitCode === EXIT_CODES.operatorUnreachable.code;
  const ofReason = isUnreachable ? ADVICE_OF_UNREACHABLE : ADVICE_OF_REASON[reason];
  const known = kind === 'Unknown' ? ofReason : undefined;
  const { advice } = CRASH_CLASSES[kind];
  // The advice of a class is written for a job that goes on.
  const isIdle = known === undefined && isFinal && advice.startsWith('No action needed');
  const first = isIdle ? 'The cluster took the pods away: nothing in the job is to be corrected.' : (known ?? advice);
  const log =
    hasLog && origin?.rank !== undefined
      ? ` More of the log: \`coxswain logs ${job.name} --rank ${origin.rank} --attempt ${epoch}\`.`
      : '';
  const again = isFinal ? ' Then submit the job again; a job that ended does not continue.' : '';
  return `${first}${log}${again}`;
}
