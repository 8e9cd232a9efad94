import type { Attempt, Job, JobEvent } from '@coxswain/api-types';
import { formatLayout, worldSize } from '@coxswain/layout';
import { formatDuration } from '@coxswain/units';
import { useMemo, useState, type ReactNode } from 'react';
import { CurvePlot } from '../components/curve-plot.tsx';
import { ProgressBar } from '../components/progress-bar.tsx';
import { RankMap } from '../components/rank-map.tsx';
import { StatePill } from '../components/state-pill.tsx';
import { columnsOf, epochStarts } from '../job/curve.ts';
import { useLiveJob } from '../job/use-live-job.ts';
import { useSession } from '../session.tsx';

const formatLoss = (value: number): string => value.toFixed(3);
const formatSpeed = (value: number): string => Math.round(value).toLocaleString();

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
      <div className="title">
        <h1>{job.name}</h1>
        <StatePill state={job.state} />
        <Actions job={job} project={project} onChange={setJob} />
      </div>
      <p className="sentence" data-testid="summary">
        {job.summary}
      </p>
      {problem !== undefined && (
        <p className="problem" role="alert">
          Not live: {problem} Trying again…
        </p>
      )}
      <Facts job={job} />
      <div className="plots">
        <CurvePlot title="loss" data={loss} color="#0891b2" format={formatLoss} marks={marks} />
        <CurvePlot title="tokens/s" data={speed} color="#7c3aed" format={formatSpeed} marks={marks} />
      </div>
      <section className="panel">
        <h2>Ranks on nodes</h2>
        <RankMap places={ranks.items} epoch={ranks.epoch} />
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
  const finished = ['Complete', 'Failed', 'Cancelled', 'Refused', 'Deleting', 'Deleted'].includes(job.state);
  if (me.role === 'viewer' || finished) return null;
  const at = { project, id: job.id };
  const act = (action: () => Promise<Job>) => () => {
    setProblem(undefined);
    action().then(onChange, (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
  };
  return (
    <span className="actions">
      {job.spec.suspend ? (
        <button type="button" onClick={act(() => api.resume(at))}>
          Resume
        </button>
      ) : (
        <button type="button" onClick={act(() => api.suspend(at))}>
          Suspend
        </button>
      )}
      <button
        type="button"
        className="danger"
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

function Facts({ job }: { readonly job: Job }): ReactNode {
  const { progress } = job;
  const total = progress?.totalSteps ?? job.spec.training?.steps;
  const facts: (readonly [string, ReactNode])[] = [
    [
      'Step',
      progress === null
        ? '–'
        : `${progress.step.toLocaleString()}${total === undefined ? '' : ` of ${total.toLocaleString()}`}`,
    ],
    ['Loss', shown(progress?.loss, (loss) => loss.toFixed(4))],
    ['Tokens/s', shown(progress?.tokensPerSecond, formatSpeed)],
    ['Left', shown(progress?.etaSeconds, (seconds) => formatDuration(seconds * 1000))],
    ['Layout', `${formatLayout(job.spec.layout)} on ${worldSize(job.spec.layout)} GPUs`],
    ['Epoch', job.epoch],
    [
      'Restarts',
      `${job.restarts.charged} of ${job.spec.restartPolicy.maxRestarts} charged, ${job.restarts.total} in all`,
    ],
    ['Checkpoint', job.checkpoint === null ? 'none yet' : `step ${job.checkpoint.step.toLocaleString()}`],
  ];
  return (
    <div className="panel">
      {progress !== null && total !== undefined && <ProgressBar value={progress.step} total={total} label="progress" />}
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

function shown(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

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
          <th className="wide">Message</th>
        </tr>
      </thead>
      <tbody>
        {[...attempts].reverse().map((attempt) => (
          <tr key={attempt.epoch}>
            <td className="number">{attempt.epoch}</td>
            <td>
              {attempt.outcome ?? attempt.stage}
              {attempt.reason !== undefined && <small>{attempt.reason}</small>}
            </td>
            <td>{attempt.resumedFrom === undefined ? 'from scratch' : `at step ${attempt.resumedFrom.step}`}</td>
            <td>{formatLayout(attempt.layout)}</td>
            <td className="wide">{attempt.message === undefined ? '' : <pre>{attempt.message}</pre>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Events({ events }: { readonly events: readonly JobEvent[] }): ReactNode {
  if (events.length === 0) return <p className="empty">Nothing happened yet.</p>;
  return (
    <ol className="events">
      {[...events].reverse().map((event) => (
        <li key={event.id} className={event.severity}>
          <time dateTime={event.at}>{new Date(event.at).toLocaleTimeString()}</time>
          <strong>{event.type}</strong>
          <span>{event.message}</span>
        </li>
      ))}
    </ol>
  );
}
