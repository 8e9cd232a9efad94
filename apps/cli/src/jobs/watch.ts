import { ApiProblem, ApiUnreachable, type StreamedChange } from '@coxswain/api-client';
import {
  FINAL_JOB_STATES,
  formatApplyFailure,
  type Job,
  paceAfter,
  type StepPace,
  type StepPoint,
} from '@coxswain/api-types';
import { formatDuration, SECOND_MS } from '@coxswain/units';
import { Document } from 'yaml';
import { jsonText, type OutputFormat, yamlText } from '../output/output.ts';
import { paint } from '../output/paint.ts';
import { eventLine, paintState, progressLine } from './job-tables.ts';
import type { ProjectJobs } from '../session/project-jobs.ts';
import type { Session } from '../session/session.ts';

const PROGRESS_EVERY_MS = SECOND_MS;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10 * SECOND_MS;

/** Follows the job to its end; any end but Complete is a failure of the command. */
const TO_THE_END: AwaitedState = 'Complete';
/** The state that a command waits for. A job that ends in another state never reaches it. */
type AwaitedState = Job['state'];

/**
 * Prints events, why the job does not train yet, and progress once a second, until the job is in the awaited state or ends; as JSON (one line each) or YAML (one document each) every change as it
 * came. Reconnects after a lost connection until Ctrl-C, and continues where it was. Resolves to the exit code.
 */
export async function watchJob(
  project: ProjectJobs,
  job: Job,
  session: Session,
  awaited: AwaitedState = TO_THE_END,
): Promise<number> {
  const isOver = ({ state }: Job): boolean => state === awaited || FINAL_JOB_STATES.has(state);
  const at = { project: project.project, id: job.id };
  const printer =
    session.outputFormat() === 'table' ? textPrinter(job, session, awaited) : documentPrinter(session, awaited);
  const over = new AbortController();
  void printer.remind?.(over.signal);
  try {
    return await followJob(project, { at, printer, session, isOver });
  } finally {
    over.abort();
  }
}

async function followJob(
  project: ProjectJobs,
  about: {
    readonly at: { readonly project: string; readonly id: string };
    readonly printer: Teller;
    readonly session: Session;
    readonly isOver: (job: Job) => boolean;
  },
): Promise<number> {
  const { at, printer, session, isOver } = about;
  let lastEventId: string | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    try {
      let end: Job | undefined;
      for await (const change of project.api.changes(at, { lastEventId })) {
        pauseMs = FIRST_PAUSE_MS;
        lastEventId = change.lastEventId ?? lastEventId;
        printer.change(change);
        if (change.kind === 'job' && isOver(change.job)) end = change.job;
        if (end !== undefined) break;
      }
      end ??= await project.api.job(at);
      if (isOver(end)) return printer.end(end);
    } catch (error) {
      if (session.signal.aborted || !mayPass(error)) throw error;
      if (pauseMs === FIRST_PAUSE_MS) session.printError(`${(error as Error).message} Trying again; Ctrl-C stops.`);
    }
    await session.pause(pauseMs);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** How long the output may be silent while a job waits. */
const REMIND_MS = 60 * SECOND_MS;

/** Prints why a job does not train: each change at once, and once a minute that it still is so. */
class WaitPrinter {
  readonly #session: Session;
  #verdict: Job['whyNotTraining'] = null;
  #sinceMs = 0;
  #printedAtMs = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  show({ whyNotTraining: verdict, state, summary }: Job): void {
    const before = this.#verdict;
    this.#verdict = verdict;
    // Both have lines of their own.
    const isShown = FINAL_JOB_STATES.has(state) || verdict?.reason === 'NotApplied';
    const isSameReason = verdict !== null && verdict.reason === before?.reason;
    if (!isSameReason) this.#sinceMs = this.#nowMs();
    // The number of free GPUs changes with each job of the cluster. The reminder prints the newest one.
    const isCount = isSameReason && verdict.reason === 'WaitingForCapacity';
    if (isShown || isCount || verdict?.sentence === before?.sentence) return;
    if (verdict === null) return this.#print(`${paintState(state)}: ${summary.split('\n', 1)[0] ?? ''}`);
    const change = verdict.change === null ? '' : ` ${verdict.change}`;
    this.#print(`${paint('held', verdict.reason)}: ${verdict.sentence}${change}`);
  }

  async remind(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      const fromMs = this.#nowMs();
      await this.#session.pause(REMIND_MS, until);
      // A pause that took no time was cut short.
      if (until.aborted || this.#session.signal.aborted || this.#nowMs() - fromMs < REMIND_MS / 2) return;
      const isSilent = this.#nowMs() - this.#printedAtMs >= REMIND_MS / 2;
      if (this.#verdict === null || !isSilent) continue;
      const forMs = this.#nowMs() - this.#sinceMs;
      this.#print(`${paint('held', this.#verdict.reason)} for ${formatDuration(forMs)}: ${this.#verdict.sentence}`);
    }
  }

  #print(line: string): void {
    this.#printedAtMs = this.#nowMs();
    this.#session.print(`${this.#session.now().toISOString().slice(11, 19)}   ${line}`);
  }

  #nowMs(): number {
    return this.#session.now().getTime();
  }
}

/** An API that restarts, or is asked too often, will answer later; a refusal will stay one. */
function mayPass(error: unknown): boolean {
  return (
    error instanceof ApiUnreachable || (error instanceof ApiProblem && (error.status === 429 || error.status >= 500))
  );
}

interface Teller {
  readonly change: (change: StreamedChange) => void;
  readonly end: (job: Job) => number;
  /** Prints that the job still waits, while nothing else is printed. */
  readonly remind?: (until: AbortSignal) => Promise<void>;
}

function textPrinter(job: Job, session: Session, awaited: AwaitedState): Teller {
  let lastProgressAtMs = -Infinity;
  let lastFailure = job.applyFailure?.message;
  const forecast = new Forecast();
  const wait = new WaitPrinter(session);
  if (job.applyFailure !== null) session.print(`Not applied: ${formatApplyFailure(job.applyFailure, session.now())}`);
  wait.show(job);
  return {
    remind: (until) => wait.remind(until),
    change: (change) => {
      if (change.kind === 'job') {
        wait.show(change.job);
        const failure = change.job.applyFailure;
        if (failure !== null && failure.message !== lastFailure && change.job.state !== 'Refused') {
          session.print(`Not applied: ${formatApplyFailure(failure, session.now())}`);
        }
        lastFailure = failure?.message;
      }
      if (change.kind === 'event') session.print(eventLine(change.event));
      if (change.kind !== 'step') return;
      forecast.take(change.point);
      if (session.now().getTime() - lastProgressAtMs < PROGRESS_EVERY_MS) return;
      lastProgressAtMs = session.now().getTime();
      session.print(stepLine(change.point, job, forecast.stepMs));
    },
    end: (ended) => {
      session.print(`${ended.name}: ${paintState(ended.state)}. ${ended.summary}`);
      return exitCodeOf(ended, awaited);
    },
  };
}

function documentPrinter(session: Session, awaited: AwaitedState): Teller {
  const spell: Readonly<Record<Exclude<OutputFormat, 'table'>, (data: unknown) => string>> = {
    json: (data) => jsonText(data),
    yaml: (data) => `---\n${yamlText(new Document(data)).trimEnd()}`,
  };
  const format = session.outputFormat() === 'yaml' ? 'yaml' : 'json';
  return { change: (change) => session.print(spell[format](change)), end: (ended) => exitCodeOf(ended, awaited) };
}

function exitCodeOf(job: Job, awaited: AwaitedState): number {
  return job.state === awaited ? 0 : 3;
}

/** The pace of the run whose steps come in. */
class Forecast {
  #pace: StepPace | undefined;
  #epoch = 0;

  /** Milliseconds of a step. */
  get stepMs(): number {
    return this.#pace?.stepMs ?? 0;
  }

  take({ epoch, stepTimeMs }: StepPoint): void {
    this.#pace = paceAfter(epoch === this.#epoch ? this.#pace : undefined, stepTimeMs);
    this.#epoch = epoch;
  }
}

function stepLine(point: StepPoint, { totalSteps }: Job, stepMs: number): string {
  const etaSeconds = totalSteps === null ? null : ((totalSteps - point.step) * stepMs) / SECOND_MS;
  return `${point.at.slice(11, 19)}   ${progressLine({ ...point, totalSteps, etaSeconds })}`;
}
