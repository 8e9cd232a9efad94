import type { AskedLayout, PlanAnswer, PlanRequest, Prediction, WhyNotAnswer } from '@coxswain/planner';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { CliError } from './cli-error.ts';
import type { CliContext } from './session.ts';

export type PlannerTask =
  | { readonly kind: 'plan'; readonly request: PlanRequest }
  | { readonly kind: 'predict' | 'whyNot'; readonly request: PlanRequest; readonly asked: AskedLayout };

export type PlannerReply =
  | { readonly kind: 'plan'; readonly answer: PlanAnswer }
  | { readonly kind: 'predict'; readonly prediction: Prediction }
  | { readonly kind: 'whyNot'; readonly answer: WhyNotAnswer }
  | { readonly kind: 'refused'; readonly isLayout: boolean; readonly reasons: readonly string[] };

/** Exit code: no layout fits, or the one that was given is not legal or does not fit. */
export const NOTHING_FITS = 4;
/** After so long a person wants to know that something happens. */
const PATIENCE_MS = 2_000;
const WORKER = new URL('./planner-worker.ts', import.meta.url);

/**
 * What the planner says, computed in a thread so that Ctrl-C works and a line tells when it takes long. Throws a {@link CliError} with the
 * planner's words where it refuses.
 */
export async function askPlanner(
  task: PlannerTask,
  context: Pick<CliContext, 'pause' | 'printError' | 'signal'>,
): Promise<Exclude<PlannerReply, { kind: 'refused' }>> {
  const worker = new Worker(WORKER, { workerData: task });
  const over = new AbortController();
  const answered = once(worker, 'message', { signal: context.signal }).then(([reply]) => reply as PlannerReply);
  void context.pause(PATIENCE_MS, over.signal).then(() => {
    if (!over.signal.aborted && !context.signal.aborted)
      context.printError('Searching layouts; this takes a few seconds more.');
  });
  try {
    const reply = await answered;
    if (reply.kind === 'refused') throw new CliError(reply.reasons.join('\n'), reply.isLayout ? NOTHING_FITS : 1);
    return reply;
  } finally {
    over.abort();
    await worker.terminate();
  }
}
