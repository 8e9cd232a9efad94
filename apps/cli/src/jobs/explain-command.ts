import {
  type Condition,
  formatApplyFailure,
  formatFailureLine,
  type Job,
  type JobStart,
  type StartVerdict,
} from '@coxswain/api-types';
import type { Command } from 'commander';
import { columns } from '../output/output.ts';
import type { ProjectJobs } from '../session/project-jobs.ts';
import type { Session } from '../session/session.ts';
import { expectedStartLines } from './expected-start.ts';
import { changeLines } from './job-check-text.ts';
import { recommendationSentence } from './goodput-command.ts';

/** What `coxswain explain` answers: the verdict, and what it stands on. */
interface Explanation {
  readonly job: string;
  readonly state: Job['state'];
  readonly summary: string;
  /** null: every rank has started, or the job has ended. */
  readonly verdict: StartVerdict | null;
  /** What stands behind it. */
  readonly conditions: readonly Condition[];
  /** The last attempt that failed; null: none did. */
  readonly lastFailure: { readonly attempt: number; readonly reason: string; readonly message: string } | null;
}

/** Options that the engine receives and no prediction counts. An explanation does without them if the server cannot render the job. */
async function notPricedOf(
  { api }: ProjectJobs,
  at: { readonly project: string; readonly id: string },
  { spec }: Job,
): Promise<readonly string[]> {
  if ((spec.engine.options ?? []).length === 0) return [];
  const rendering = await api.rendering(at).catch(() => undefined);
  // Few jobs have such options, and engines take long to load.
  const { isNotPriced } = await import('@coxswain/engines');
  return (rendering?.program?.notes ?? []).filter(isNotPriced);
}

/** `coxswain explain` */
export function addExplainCommand(program: Command, session: Session): void {
  program
    .command('explain <job>')
    .description(
      'say why a job does not train, what that stands on, the smallest change that helps, and when it is expected to start',
    )
    .addHelpText('after', '\nExample:\n  coxswain explain tiny-gpt --output json')
    .action(async (name: string) => {
      const project = await session.open();
      const { at, job } = await project.find(name);
      // An explanation does without it: goodput is read from the database alone.
      const goodput =
        job.spec.checkpoint === undefined ? undefined : await project.api.goodput(at).catch(() => undefined);
      const recommendedSaves = goodput?.recommendedSaves ?? null;
      const advice = goodput === undefined ? [] : recommendationSentence(goodput);
      const notPriced = await notPricedOf(project, at, job);
      // Of a job that waits. A server of the release before does not have it.
      const start = job.jobsBefore === null ? undefined : await project.api.jobStart(at).catch(() => undefined);
      const more = [...advice.flatMap((line) => ['', line]), ...(notPriced.length === 0 ? [] : ['', ...notPriced])];
      session.show({ ...explanationOf(job), recommendedSaves, notPriced, start: start ?? null }, () =>
        [explanationText(job, session.now(), start), ...more].join('\n'),
      );
    });
}

function explanationOf(job: Job): Explanation {
  const { name, state, summary, whyNotTraining: verdict, conditions } = job;
  const failed = job.attempts.findLast(({ outcome }) => outcome === 'Failed');
  const { epoch = 0, reason = 'LauncherFailed', message = '' } = failed ?? {};
  const lastFailure = failed === undefined ? null : { attempt: epoch, reason, message: message.split('\n')[0] ?? '' };
  return { job: name, state, summary, verdict, conditions, lastFailure };
}

function explanationText(job: Job, now: Date, start: JobStart | undefined): string {
  const { verdict, conditions, lastFailure } = explanationOf(job);
  const shown = conditions.map(({ type, status, reason, message }) => [
    `  ${type}`,
    status,
    reason,
    message.split('\n')[0] ?? '',
  ]);
  const earlier =
    lastFailure === null
      ? []
      : ['', `Attempt ${lastFailure.attempt} failed: ${lastFailure.reason}. ${lastFailure.message}`];
  const cause = job.lastFailure;
  const failure =
    cause === null ? earlier : ['', formatFailureLine(cause, now), ...(cause.isFinal ? [`Next: ${cause.advice}`] : [])];
  return [
    ...verdictLines(job, verdict),
    ...(start === undefined ? [] : expectedStartLines(start)),
    ...(job.applyFailure === null ? [] : ['', `Not applied: ${formatApplyFailure(job.applyFailure, now)}`]),
    ...(shown.length === 0
      ? []
      : ['', 'What stands behind it', columns([['  CONDITION', 'IS', 'REASON', 'MESSAGE'], ...shown])]),
    ...failure,
  ].join('\n');
}

function verdictLines({ name, state, summary }: Job, verdict: StartVerdict | null): readonly string[] {
  if (verdict === null) return [`${name} is ${state}. ${summary.split('\n')[0] ?? ''}`];
  const { reason, sentence, change, object } = verdict;
  return [`${name} does not train yet: ${reason}`, sentence, ...changeLines({ change, object })];
}
