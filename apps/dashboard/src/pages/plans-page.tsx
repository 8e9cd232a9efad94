import type { AccuracyFigures, AccuracyGroup, MeasuredPrediction, PlanAccuracy } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { ProjectReport } from '../components/project-report.tsx';
import { PredictionScatter } from '../components/prediction-scatter.tsx';
import { formatMs, signedPercent } from '../step-time.ts';

/** How the planner's predictions came true, over all jobs of a project, or of every one for administrators. */
export function PlansPage(): ReactNode {
  return (
    <ProjectReport
      title="Predictions"
      introduction={
        <p className="sentence">
          The planner predicts the time of a step before a job starts; the median of the steps that were run stands
          beside it.
        </p>
      }
      what="plan accuracy"
      read={(api, project) => api.planAccuracy(project)}
      whileReading="Reading predictions…"
    >
      {(accuracy) => <Predictions accuracy={accuracy} />}
    </ProjectReport>
  );
}

function Predictions({ accuracy: { overall, groups, items } }: { readonly accuracy: PlanAccuracy }): ReactNode {
  if (overall.n === 0) return <p className="empty">No job has both a predicted and a measured step time yet.</p>;
  return (
    <>
      <div className="columns">
        <section className="panel">
          <h2>Predicted against measured</h2>
          <PredictionScatter items={items} />
        </section>
        <section className="panel scroll">
          <h2>Prediction error</h2>
          <AccuracyTable overall={overall} groups={groups} />
        </section>
      </div>
      <section className="panel scroll">
        <h2>Jobs</h2>
        <JobTable items={items} />
      </section>
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
