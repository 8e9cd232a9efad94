import type { AccuracyFigures, AccuracyGroup, MeasuredPrediction } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { PredictionScatter } from '../components/prediction-scatter.tsx';
import { projectsOf } from '../projects-of.ts';
import { useSession } from '../session.tsx';
import { formatMs, signedPercent } from '../step-time.ts';

const REFRESH_MS = 10_000;

/** How the planner's predictions came true, over all jobs of a project, or of every one for administrators. */
export function PlansPage(): ReactNode {
  const { api, me } = useSession();
  const projects = projectsOf(me);
  const [project = '-', setProject] = useState(projects[0]);
  const { data, error, isPending } = useQuery({
    queryKey: ['plan accuracy', project],
    refetchInterval: REFRESH_MS,
    queryFn: () => api.planAccuracy(project),
  });
  return (
    <>
      <title>Predictions · Coxswain</title>
      <div className="title">
        <h1>Predictions</h1>
        {projects.length > 1 && (
          <label className="actions">
            <span className="hint">Project</span>
            <select value={project} onChange={(event) => setProject(event.target.value)}>
              {projects.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <p className="sentence">
        The planner predicts the time of a step before a job starts; the median of the steps that were run stands beside
        it.
      </p>
      {error !== null && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      {isPending && <p className="waiting">Reading predictions…</p>}
      {data?.overall.n === 0 && <p className="empty">No job has both a predicted and a measured step time yet.</p>}
      {data !== undefined && data.overall.n > 0 && (
        <>
          <div className="columns">
            <section className="panel">
              <h2>Predicted against measured</h2>
              <PredictionScatter items={data.items} />
            </section>
            <section className="panel scroll">
              <h2>Prediction error</h2>
              <AccuracyTable overall={data.overall} groups={data.groups} />
            </section>
          </div>
          <section className="panel scroll">
            <h2>Jobs</h2>
            <JobTable items={data.items} />
          </section>
        </>
      )}
    </>
  );
}

function AccuracyTable(props: {
  readonly overall: AccuracyFigures;
  readonly groups: readonly AccuracyGroup[];
}): ReactNode {
  return (
    <table>
      <thead>
        <tr>
          <th>Engine</th>
          <th>GPU</th>
          <th className="number">Jobs</th>
          <th className="number">Median |error|</th>
          <th className="number">9 of 10</th>
          <th className="number">Bias</th>
        </tr>
      </thead>
      <tbody>
        {props.groups.map((group) => (
          <tr key={`${group.engine}/${group.gpuType}`}>
            <td>{group.engine}</td>
            <td>{group.gpuType}</td>
            <Figures figures={group} />
          </tr>
        ))}
        <tr>
          <td>all</td>
          <td />
          <Figures figures={props.overall} />
        </tr>
      </tbody>
    </table>
  );
}

function Figures({ figures }: { readonly figures: AccuracyFigures }): ReactNode {
  const percent = (value: number | null): string => (value === null ? '–' : `${value.toFixed(1)} %`);
  return (
    <>
      <td className="number nowrap">{figures.n}</td>
      <td className="number nowrap">{percent(figures.medianAbsPct)}</td>
      <td className="number nowrap">{percent(figures.p90AbsPct)}</td>
      <td className="number nowrap">{figures.biasPct === null ? '–' : signedPercent(figures.biasPct)}</td>
    </>
  );
}

function JobTable({ items }: { readonly items: readonly MeasuredPrediction[] }): ReactNode {
  return (
    <table>
      <thead>
        <tr>
          <th>Job</th>
          <th>Layout</th>
          <th>GPU</th>
          <th className="number">Predicted</th>
          <th className="number">Measured</th>
          <th className="number">Error</th>
          <th className="number">Steps</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={`${item.jobId}/${item.epoch}`}>
            <td className="name">
              <Link href={`/projects/${item.project ?? '-'}/jobs/${item.jobId}`}>{item.name}</Link>
              <small>{item.project ?? 'no project'}</small>
            </td>
            <td className="nowrap">{formatLayout(item.layout)}</td>
            <td>{item.gpuType}</td>
            <td className="number nowrap">{formatMs(item.predictedMs)}</td>
            <td className="number nowrap">{formatMs(item.measuredMs)}</td>
            <td className="number nowrap">{signedPercent(item.errorPct)}</td>
            <td className="number">{item.measuredSteps}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
