import { describeSecrets, gpuCount, nameOfRun, type Job } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import { formatDuration } from '@coxswain/units';
import type { ReactNode } from 'react';
import type { LiveProgress } from '../job/live-progress.ts';
import { formatMs, formatSpeed, signedPercent } from '../step-time.ts';
import { ProgressBar } from './progress-bar.tsx';
import { FactList } from './fact-list.tsx';

interface JobFactsProps {
  readonly job: Job;
  readonly progress: LiveProgress | undefined;
}

export function JobFacts({ job, progress }: JobFactsProps): ReactNode {
  const total = progress?.totalSteps ?? null;
  const facts: (readonly [string, ReactNode])[] = [
    [
      'Step',
      progress === undefined ? '–' : `${counted(progress.step)}${total === null ? '' : ` of ${counted(total)}`}`,
    ],
    ['Loss', shown(progress?.loss, (loss) => loss.toFixed(4))],
    ['Tokens/s', shown(progress?.tokensPerSecond, formatSpeed)],
    ['Left', shown(progress?.etaSeconds, (seconds) => formatDuration(seconds * 1000))],
    ...(job.jobsBefore === null
      ? []
      : [['Waiting longer', `${counted(job.jobsBefore)} jobs of the namespace`] as const]),
    ['Layout', layoutOf(job)],
    ['Step time', <StepTimes key="step-time" stepTime={job.stepTime} />],
    ['Attempt', job.epoch === 0 ? 'none yet' : nameOfRun(job.epoch, job.attempts.at(-1)?.incarnation)],
    [
      'Restarts',
      `${job.restarts.charged} of ${job.spec.restartPolicy.maxRestarts} charged, ${job.restarts.total} in all`,
    ],
    ['Checkpoint', job.checkpoint === null ? 'none yet' : `step ${counted(job.checkpoint.step)}`],
    ...(job.spec.code === undefined ? [] : [['Code', `SHA-256 ${job.spec.code.sha256.slice(0, 12)}`] as const]),
    ...secretFacts(job),
  ];
  return (
    <div className="panel">
      {progress !== undefined && total !== null && <ProgressBar value={progress.step} total={total} label="progress" />}
      <FactList className="facts" facts={facts} />
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
