import { nameOfRun, type CheckpointDetail, type Job } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import { formatBytes, formatCount } from '@coxswain/units';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { describeLoss, describeTokens } from '../checkpoints/format-progress.ts';
import { describeRetention, shownVerdict } from '../checkpoints/format-verdict.ts';
import { baseOf, startedFrom } from '../checkpoints/lineage.ts';
import { CheckpointActions } from './checkpoint-actions.tsx';
import { Contents } from './checkpoint-contents.tsx';
import { FactList } from './fact-list.tsx';
import { GoOnPanel } from './go-on-panel.tsx';
import { ShardMap } from './shard-map.tsx';
import { Time } from './time.tsx';
import { VerdictPill } from './verdict-pill.tsx';
import { Verifications } from './verifications.tsx';

interface CheckpointDetailsProps {
  readonly project: string;
  readonly checkpoint: CheckpointDetail;
  /** Undefined: it is being read, or gone. */
  readonly job: Job | undefined;
}

/** Everything that the page of a checkpoint shows of it. */
export function CheckpointDetails({ project, checkpoint, job }: CheckpointDetailsProps): ReactNode {
  const { step, jobName, name, pin, contents, tensorGroups, verifications } = checkpoint;
  const verdict = shownVerdict(checkpoint);
  const title = `Step ${step.toLocaleString('en')} of ${jobName}`;
  return (
    <>
      <title>{`${title} · Coxswain`}</title>
      <div className="title">
        <h1>{title}</h1>
        <VerdictPill verdict={verdict} />
        {pin !== null && <span className="tag">pinned</span>}
      </div>
      <p className={verdict.tone === 'bad' ? 'sentence problem' : 'sentence'}>{verdict.meaning}</p>
      <section className="panel">
        <h2>{name}</h2>
        <FactList className="facts" facts={factsOf({ project, checkpoint, job })} />
      </section>
      <div className="columns">
        <section className="panel">
          <h2>Verify and keep</h2>
          <CheckpointActions project={project} checkpoint={checkpoint} />
        </section>
        {job !== undefined && <GoOnPanel project={project} checkpoint={checkpoint} job={job} />}
      </div>
      <section className="panel scroll" data-testid="verifications">
        <h2>Verifications</h2>
        <Verifications history={verifications} />
      </section>
      <section className="panel scroll">
        <h2>Contents</h2>
        {contents === null ? (
          <p className="empty">
            Its contents are unknown: format {checkpoint.format} has no reader, or none has read it.
          </p>
        ) : (
          <Contents contents={contents} />
        )}
      </section>
      <section className="panel" data-testid="shards">
        <h2>Shards</h2>
        {tensorGroups === undefined || tensorGroups === null || tensorGroups.length === 0 ? (
          <p className="empty">No geometry is known: no reader has listed the tensors of this checkpoint.</p>
        ) : (
          <ShardMap groups={tensorGroups} />
        )}
      </section>
    </>
  );
}

function factsOf({ project, checkpoint, job }: CheckpointDetailsProps): readonly (readonly [string, ReactNode])[] {
  const { jobId, jobName, name, epoch, incarnation, createdAt, deletedAt } = checkpoint;
  const retention = describeRetention(checkpoint);
  const runs = job === undefined ? undefined : startedFrom(job.attempts).get(name);
  return [
    ['Job', jobId === null ? jobName : <Link href={`/projects/${project}/jobs/${jobId}`}>{jobName}</Link>],
    ['Saved', <Time key="saved" at={createdAt} />],
    ['By attempt', nameOfRun(epoch, incarnation)],
    ['Which began from', job === undefined ? '–' : describeBase(checkpoint, job)],
    ['Attempts from here', runs === undefined ? 'none' : runs.join(', ')],
    ...usesOf(project, checkpoint),
    ['Loss', describeLoss(checkpoint) ?? 'not reported'],
    ['Tokens', describeTokens(checkpoint) ?? 'not known'],
    ['Layout', formatLayout(checkpoint.layout)],
    ['Format', checkpoint.format],
    ['Size', `${formatBytes(checkpoint.bytes)} in ${formatCount(checkpoint.files, 'file')}`],
    ...(retention === undefined ? [] : [['Retention', `It ${retention}`] as const]),
    ['Claim', checkpoint.claimName],
    ['Directory', checkpoint.path],
    ...(deletedAt === null ? [] : [['Object deleted', <Time key="deleted" at={deletedAt} />] as const]),
  ];
}

/** The attempts that began from it, of all jobs, as links; nothing if there are none. */
function usesOf(project: string, { usedBy }: CheckpointDetail): readonly (readonly [string, ReactNode])[] {
  if (usedBy === undefined || usedBy === null || usedBy.total === 0) return [];
  const more = usedBy.total - usedBy.attempts.length;
  const links = usedBy.attempts.map(({ jobId, jobName, epoch }, index) => (
    <span key={`${jobId} ${epoch}`}>
      {index === 0 ? '' : ', '}
      <Link href={`/projects/${project}/jobs/${jobId}`}>{`${jobName} attempt ${epoch}`}</Link>
    </span>
  ));
  return [['Used by', [...links, ...(more > 0 ? [`, ${more} more`] : [])]]];
}

function describeBase(checkpoint: CheckpointDetail, { attempts }: Job): string {
  const base = baseOf(checkpoint, attempts);
  if (base === undefined) return 'not recorded any more';
  return base === null ? 'scratch' : `step ${base.step.toLocaleString('en')}`;
}
