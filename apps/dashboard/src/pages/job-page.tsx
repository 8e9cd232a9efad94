import type { Attempt, Job, JobEvent } from '@coxswain/api-types';
import { formatLayout, worldSize } from '@coxswain/layout';
import { formatDuration } from '@coxswain/units';
import { Fragment, useMemo, useState, type ReactNode } from 'react';
import { CurvePlot } from '../components/curve-plot.tsx';
import { ProgressBar } from '../components/progress-bar.tsx';
import { RankMap } from '../components/rank-map.tsx';
import { StatePill } from '../components/state-pill.tsx';
import { columnsOf, epochStarts } from '../job/curve.ts';
import { liveProgress, type LiveProgress } from '../job/live-progress.ts';
import { useLiveJob } from '../job/use-live-job.ts';
import { useSession } from '../session.tsx';

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
  const loss = useMemo(() => columnsOf(curve, (point) => point.loss), [curve]);
  const speed = useMemo(() => columnsOf(curve, (point) => point.tokensPerSecond), [curve]);
  const marks = useMemo(
    () => epochStarts(curve).map(({ epoch, step }) => ({ step, label: `epoch ${epoch}` })),
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
  return (
    <>
      <title>{`${job.name} · ${job.state} · Coxswain`}</title>
      <div className="title">
        <h1>{job.name}</h1>
        <StatePill state={job.state} />
        <Actions job={job} project={project} onChange={setJob} />
      </div>
      <p className={isBad(job.state) ? 'sentence problem' : 'sentence'} data-testid="summary">
        {job.summary}
      </p>
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem} This page tries again by itself.
        </p>
      )}
      <Facts job={job} progress={liveProgress(job, curve)} />
      <div className="plots">
        <CurvePlot title="Loss" data={loss} color="--curve-loss" format={formatLoss} marks={marks} />
        <CurvePlot title="Tokens/s" data={speed} color="--curve-speed" fromZero format={formatSpeed} marks={marks} />
      </div>
      <section className="panel">
        <h2>Ranks on nodes</h2>
        {ranks === undefined ? (
          <p className="empty">Reading where the ranks are…</p>
        ) : (
          <RankMap places={ranks.items} epoch={ranks.epoch} />
        )}
      </section>
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

interface ActionsProps {
  readonly job: Job;
  readonly project: string;
  readonly onChange: (job: Job) => void;
}

function Actions({ job, project, onChange }: ActionsProps): ReactNode {
  const { api, me } = useSession();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  if (me.role === 'viewer' || FINISHED.has(job.state)) return null;
  const at = { project, id: job.id };
  const act = (action: () => Promise<Job>) => () => {
    setProblem(undefined);
    setIsBusy(true);
    action()
      .then(onChange, (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)))
      .finally(() => setIsBusy(false));
  };
  return (
    <span className="actions">
      {job.spec.suspend ? (
        <button type="button" disabled={isBusy} onClick={act(() => api.resume(at))}>
          Resume
        </button>
      ) : (
        <button type="button" disabled={isBusy} onClick={act(() => api.suspend(at))}>
          Suspend
        </button>
      )}
      <button
        type="button"
        className="danger"
        disabled={isBusy}
        onClick={() => {
          if (confirm(`Stop ${job.name} for good? Its checkpoints stay.`)) act(() => api.cancel(at))();
        }}
      >
        Cancel
      </button>
      {problem !== undefined && (
        <span className="problem" role="alert">
          {problem}
        </span>
      )}
    </span>
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
    ['Layout', `${formatLayout(job.spec.layout)} on ${counted(worldSize(job.spec.layout))} GPUs`],
    ['Epoch', job.epoch],
    [
      'Restarts',
      `${job.restarts.charged} of ${job.spec.restartPolicy.maxRestarts} charged, ${job.restarts.total} in all`,
    ],
    ['Checkpoint', job.checkpoint === null ? 'none yet' : `step ${counted(job.checkpoint.step)}`],
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

function counted(count: number): string {
  return count.toLocaleString('en');
}

function shown(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

const STAGE_WORDS: Readonly<Record<Attempt['stage'], string>> = {
  Creating: 'Being placed',
  Released: 'Under way',
  Stopping: 'Stopping',
  Ended: 'Ended',
};

function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }): ReactNode {
  if (attempts.length === 0) return <p className="empty">Not started yet.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th className="number">Epoch</th>
          <th>Outcome</th>
          <th>Began</th>
          <th>Layout</th>
          <th>When</th>
        </tr>
      </thead>
      <tbody>
        {[...attempts].reverse().map((attempt) => (
          <Fragment key={attempt.epoch}>
            <tr>
              <td className="number">{attempt.epoch}</td>
              <td>
                {attempt.outcome ?? STAGE_WORDS[attempt.stage]}
                {attempt.reason !== undefined && <small>{attempt.reason}</small>}
              </td>
              <td>
                {attempt.resumedFrom === undefined ? 'from scratch' : `after step ${counted(attempt.resumedFrom.step)}`}
              </td>
              <td>{formatLayout(attempt.layout)}</td>
              <td>
                <Time at={attempt.startedAt} />
              </td>
            </tr>
            {attempt.message !== undefined && (
              <tr className="message">
                <td />
                <td colSpan={4}>
                  <pre tabIndex={0}>{attempt.message}</pre>
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

function Events({ events }: { readonly events: readonly JobEvent[] }): ReactNode {
  if (events.length === 0) return <p className="empty">Nothing happened yet.</p>;
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
