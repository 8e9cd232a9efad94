import {
  describeSecrets,
  gpuCount,
  nameOfRun,
  type Attempt,
  type Job,
  type JobEvent,
  type JobPlan,
} from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import { formatBytes, formatDuration } from '@coxswain/units';
import { useQuery } from '@tanstack/react-query';
import { Fragment, useMemo, type ReactNode } from 'react';
import { ApplyFailureNote } from '../components/apply-failure-note.tsx';
import { CurvePlot } from '../components/curve-plot.tsx';
import { JobActions } from '../components/job-actions.tsx';
import { LifePanel } from '../components/life-panel.tsx';
import { PlacedTraffic } from '../components/placed-traffic.tsx';
import { ProgressBar } from '../components/progress-bar.tsx';
import { RankMap } from '../components/rank-map.tsx';
import { Rendering } from '../components/rendering.tsx';
import { StacksPanel } from '../components/stacks-panel.tsx';
import { StatePill } from '../components/state-pill.tsx';
import { epochStarts, rangeColumnsOf } from '../job/curve.ts';
import { liveProgress, type LiveProgress } from '../job/live-progress.ts';
import { useLiveJob } from '../job/use-live-job.ts';
import { useSession } from '../session.tsx';
import { formatMs, signedPercent } from '../step-time.ts';

const formatLoss = (value: number): string => value.toFixed(3);
const formatSpeed = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 4 });
const FINISHED: ReadonlySet<Job['state']> = new Set([
  'Complete',
  'Failed',
  'Cancelled',
  'Refused',
  'Deleting',
  'Deleted',
]);

export function JobPage({ project, id }: { readonly project: string; readonly id: string }): ReactNode {
  const { api } = useSession();
  const { job, events, curve, ranks, problem, setJob } = useLiveJob(api, project, id);
  const loss = useMemo(() => rangeColumnsOf(curve, 'loss'), [curve]);
  const speed = useMemo(() => rangeColumnsOf(curve, 'tokensPerSecond'), [curve]);
  const marks = useMemo(
    () => epochStarts(curve).map(({ epoch, step }) => ({ step, label: `attempt ${epoch}` })),
    [curve],
  );
  if (job === undefined) {
    return problem === undefined ? (
      <p className="waiting">Reading the job…</p>
    ) : (
      <p className="problem" role="alert">
        {problem}
      </p>
    );
  }
  const isFinished = FINISHED.has(job.state);
  return (
    <>
      <title>{`${job.name} · ${job.state} · Coxswain`}</title>
      <div className="title">
        <h1>{job.name}</h1>
        <StatePill state={job.state} />
        <JobActions job={job} project={project} isFinished={isFinished} onChange={setJob} />
      </div>
      <p className={isBad(job.state) ? 'sentence problem' : 'sentence'} data-testid="summary">
        {job.summary}
      </p>
      <ApplyFailureNote job={job} now={new Date()} />
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem} This page tries again by itself.
        </p>
      )}
      <Facts job={job} progress={liveProgress(job, curve)} />
      {job.plan !== null && <PlanPanel plan={job.plan} />}
      <div className="plots">
        <CurvePlot title="Loss" data={loss} color="--curve-loss" format={formatLoss} marks={marks} />
        <CurvePlot title="Tokens/s" data={speed} color="--curve-speed" fromZero format={formatSpeed} marks={marks} />
      </div>
      <LifePanel job={job} project={project} isFinished={isFinished} />
      <StacksPanel job={job} project={project} isFinished={isFinished} />
      <section className="panel">
        <h2>Ranks on nodes</h2>
        {ranks === undefined ? (
          <p className="empty">Reading where the ranks are…</p>
        ) : (
          <>
            <RankMap ranks={ranks} />
            {ranks.bytesPerStep !== null && <PlacedTraffic traffic={ranks.bytesPerStep} />}
          </>
        )}
      </section>
      <WhatIsRun job={job} project={project} />
      <div className="columns">
        <section className="panel scroll">
          <h2>Attempts</h2>
          <Attempts attempts={job.attempts} />
        </section>
        <section className="panel scroll">
          <h2>Events</h2>
          <Events events={events} />
        </section>
      </div>
    </>
  );
}

/** Read again when another attempt begins, a plan comes, or something else is asked of the job. */
function WhatIsRun({ job, project }: { readonly job: Job; readonly project: string }): ReactNode {
  const { api } = useSession();
  const { id, epoch, state, specVersion, layout } = job;
  const { data, error } = useQuery({
    queryKey: ['rendering', project, id, epoch, state, specVersion, layout],
    queryFn: () => api.rendering({ project, id }),
  });
  return (
    <section className="panel" data-testid="rendering">
      <h2>What is run</h2>
      {data === undefined ? (
        <p className="empty">{error === null ? 'Reading what is run…' : error.message}</p>
      ) : (
        <Rendering rendering={data} />
      )}
    </section>
  );
}

function isBad(state: Job['state']): boolean {
  return state === 'Failed' || state === 'Refused';
}

interface FactsProps {
  readonly job: Job;
  readonly progress: LiveProgress | undefined;
}

function Facts({ job, progress }: FactsProps): ReactNode {
  const total = progress?.totalSteps ?? null;
  const facts: (readonly [string, ReactNode])[] = [
    [
      'Step',
      progress === undefined ? '–' : `${counted(progress.step)}${total === null ? '' : ` of ${counted(total)}`}`,
    ],
    ['Loss', shown(progress?.loss, (loss) => loss.toFixed(4))],
    ['Tokens/s', shown(progress?.tokensPerSecond, formatSpeed)],
    ['Left', shown(progress?.etaSeconds, (seconds) => formatDuration(seconds * 1000))],
    ['Layout', layoutOf(job)],
    ['Step time', <StepTimes key="step-time" stepTime={job.stepTime} />],
    ['Attempt', nameOfRun(job.epoch, job.attempts.at(-1)?.incarnation)],
    [
      'Restarts',
      `${job.restarts.charged} of ${job.spec.restartPolicy.maxRestarts} charged, ${job.restarts.total} in all`,
    ],
    ['Checkpoint', job.checkpoint === null ? 'none yet' : `step ${counted(job.checkpoint.step)}`],
    ...secretFacts(job),
  ];
  return (
    <div className="panel">
      {progress !== undefined && total !== null && <ProgressBar value={progress.step} total={total} label="progress" />}
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** The Secrets that values come from; the page does not know the values. */
function secretFacts({ spec }: Job): readonly (readonly [string, ReactNode])[] {
  const secrets = describeSecrets(spec.engine);
  if (secrets.length === 0) return [];
  return [['Secrets', secrets.map(({ as, from }) => <div key={as}>{`${as}: ${from}`}</div>)]];
}

function layoutOf({ layout, spec, plan }: Job): string {
  const gpus = `${counted(gpuCount(layout, spec.gpus))} GPUs`;
  if (layout === null) return `to be planned for ${gpus}`;
  return `${formatLayout(layout)} on ${gpus}${plan?.chosenBy === 'Planner' ? ', chosen by the planner' : ''}`;
}

const VERDICT_WORDS: Readonly<Record<NonNullable<JobPlan['verdict']>, string>> = {
  fits: 'fits',
  tight: 'is tight',
  doesNotFit: 'does not fit',
};

/** Four of five such steps lie in it; nothing of a plan that was made before there were intervals. */
function rangeOf({ predictedStepLowMs, predictedStepHighMs }: JobPlan): string {
  if (predictedStepLowMs === undefined || predictedStepHighMs === undefined) return '';
  return ` (80 %: ${formatMs(predictedStepLowMs)} to ${formatMs(predictedStepHighMs)})`;
}

/** The plan of the job; empty if the planner had no answer. */
function PlanPanel({ plan }: { readonly plan: JobPlan }): ReactNode {
  if (plan.layout === undefined || plan.predictedStepMs === undefined) return null;
  const memory =
    plan.predictedPeakBytes === undefined || plan.verdict === undefined
      ? ''
      : `, ${formatBytes(plan.predictedPeakBytes)} per GPU, which ${VERDICT_WORDS[plan.verdict]}`;
  const layout = `${formatLayout(plan.layout)}, micro-batch ${plan.microBatchSize ?? 1}`;
  return (
    <section className="panel" data-testid="plan">
      <h2>{plan.chosenBy === 'Planner' ? 'Chosen by the planner' : 'Predicted by the planner'}</h2>
      <p>
        {layout}: {formatMs(plan.predictedStepMs)} per step{rangeOf(plan)}
        {memory}.{plan.errorStatement !== undefined && <small> {plan.errorStatement}</small>}
      </p>
      {plan.whyStages !== undefined && <p className="hint">{plan.whyStages}</p>}
      {plan.runnersUp !== undefined && (
        <p className="hint">
          Next best:{' '}
          {plan.runnersUp
            .map((one) => `${one.layout}, micro-batch ${one.microBatchSize} (${formatMs(one.predictedStepMs)})`)
            .join('; ')}
        </p>
      )}
      <p className="hint">Planned for {plan.fabric}.</p>
    </section>
  );
}

/** Measured, with the prediction and its error beneath. */
function StepTimes({ stepTime }: { readonly stepTime: Job['stepTime'] }): ReactNode {
  if (stepTime === null) return '–';
  const { predictedMs, measuredMs, errorPct } = stepTime;
  const error = errorPct === null ? '' : `, ${signedPercent(errorPct)}`;
  return (
    <>
      {measuredMs === null ? '–' : formatMs(measuredMs)}
      {predictedMs !== null && <small>{`${formatMs(predictedMs)} predicted${error}`}</small>}
    </>
  );
}

function counted(count: number): string {
  return count.toLocaleString('en');
}

function shown(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

const STAGE_WORDS: Readonly<Record<Attempt['stage'], string>> = {
  Creating: 'Being placed',
  Released: 'Running',
  Stopping: 'Stopping',
  Ended: 'Ended',
};

interface RunRowProps {
  readonly attempt: Attempt;
  /** The attempt itself, for its last incarnation, or an earlier one. */
  readonly run: Pick<Attempt, 'incarnation' | 'reason' | 'message' | 'resumedFrom'>;
  readonly at: string;
  /** How it ended or how far it is. */
  readonly children: ReactNode;
}

/** One incarnation of an attempt, with the message of its end below it. */
function RunRow({ attempt, run, at, children }: RunRowProps): ReactNode {
  return (
    <>
      <tr>
        <td className="number">{nameOfRun(attempt.epoch, run.incarnation)}</td>
        <td>
          {children}
          {run.reason !== undefined && <small>{run.reason}</small>}
        </td>
        <td>{beginning(run.resumedFrom)}</td>
        <td>{formatLayout(attempt.layout)}</td>
        <td>
          <Time at={at} />
        </td>
      </tr>
      {run.message !== undefined && (
        <tr className="message">
          <td />
          <td colSpan={4}>
            <pre tabIndex={0}>{run.message}</pre>
          </td>
        </tr>
      )}
    </>
  );
}

function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }): ReactNode {
  if (attempts.length === 0) return <p className="empty">Not started yet.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th className="number">Attempt</th>
          <th>Outcome</th>
          <th>Started from</th>
          <th>Layout</th>
          <th>When</th>
        </tr>
      </thead>
      <tbody>
        {[...attempts].reverse().map((attempt) => (
          <Fragment key={attempt.epoch}>
            <RunRow attempt={attempt} run={attempt} at={attempt.startedAt}>
              {attempt.outcome ?? STAGE_WORDS[attempt.stage]}
            </RunRow>
            {[...(attempt.incarnations ?? [])].reverse().map((ended) => (
              <RunRow key={ended.incarnation} attempt={attempt} run={ended} at={ended.endedAt}>
                Failed, restarted in its pods
              </RunRow>
            ))}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

function beginning(resumedFrom: Attempt['resumedFrom']): string {
  return resumedFrom === undefined ? 'from scratch' : `after step ${counted(resumedFrom.step)}`;
}

function Events({ events }: { readonly events: readonly JobEvent[] }): ReactNode {
  if (events.length === 0) return <p className="empty">No events yet.</p>;
  return (
    <ol className="events" tabIndex={0} aria-label="Events, newest first">
      {[...events].reverse().map((event) => (
        <li key={event.id} className={event.severity}>
          <Time at={event.at} />
          <strong>{event.type}</strong>
          <span className="message" title={event.message}>
            {event.message}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The time of day, with the date when it was not today; all of it under the pointer. */
function Time({ at }: { readonly at: string }): ReactNode {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? '' : `${date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' })}, `;
  return (
    <time dateTime={at} title={date.toLocaleString()}>
      {day}
      {date.toLocaleTimeString()}
    </time>
  );
}
