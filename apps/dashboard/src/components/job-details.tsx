import { FINAL_JOB_STATES, type Job } from '@coxswain/api-types';
import type { ReactNode } from 'react';
import { liveProgress } from '../job/live-progress.ts';
import type { LiveJob } from '../job/use-live-job.ts';
import { Attempts } from './attempts.tsx';
import { ApplyFailureNote } from './apply-failure-note.tsx';
import { CheckpointsPanel } from './checkpoints-panel.tsx';
import { WhyNotTrainingNote } from './why-not-training-note.tsx';
import { FailureCause } from './failure-cause.tsx';
import { JobActions } from './job-actions.tsx';
import { JobEvents } from './job-events.tsx';
import { JobFacts } from './job-facts.tsx';
import { JobLinks } from './job-links.tsx';
import { LifePanel } from './life-panel.tsx';
import { LogsPanel } from './logs-panel.tsx';
import { PlacedTraffic } from './placed-traffic.tsx';
import { PlanPanel } from './plan-panel.tsx';
import { RankMap } from './rank-map.tsx';
import { RenderingPanel } from './rendering-panel.tsx';
import { RunCurves } from './run-curves.tsx';
import { StacksPanel } from './stacks-panel.tsx';
import { StatePill } from './state-pill.tsx';

interface JobDetailsProps {
  readonly project: string;
  readonly live: LiveJob & { readonly job: Job };
}

/** Everything that the page of a job shows of it. */
export function JobDetails({ project, live }: JobDetailsProps): ReactNode {
  const { job, events, curve, ranks, problem, setJob } = live;
  const isFinished = FINAL_JOB_STATES.has(job.state);
  return (
    <>
      <title>{`${job.name} · ${job.state} · Coxswain`}</title>
      <div className="title">
        <h1>{job.name}</h1>
        <StatePill state={job.state} />
        <JobActions
          job={job}
          project={project}
          onChange={(changed) => {
            if (changed !== undefined) setJob(changed);
          }}
        />
      </div>
      <FailureCause job={job} now={new Date()} />
      <p className={isBad(job.state) ? 'sentence problem' : 'sentence'} data-testid="summary">
        {job.summary}
      </p>
      <ApplyFailureNote job={job} now={new Date()} />
      <WhyNotTrainingNote job={job} />
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <JobLinks job={job} project={project} />
      <JobFacts job={job} progress={liveProgress(job, curve)} />
      {job.plan !== null && <PlanPanel plan={job.plan} />}
      <RunCurves job={job} project={project} curve={curve} />
      <LifePanel job={job} project={project} isFinished={isFinished} />
      <CheckpointsPanel job={job} project={project} />
      <LogsPanel job={job} project={project} />
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
      <RenderingPanel job={job} project={project} />
      <div className="columns">
        <section className="panel scroll">
          <h2>Attempts</h2>
          <Attempts attempts={job.attempts} />
        </section>
        <section className="panel scroll">
          <h2>Events</h2>
          <JobEvents events={events} />
        </section>
      </div>
    </>
  );
}

function isBad(state: Job['state']): boolean {
  return state === 'Failed' || state === 'Refused';
}
