import { nameOfRun, type CheckpointRecord } from '@coxswain/api-types';
import { formatBytes } from '@coxswain/units';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { describeHolds } from '../checkpoints/format-contents.ts';
import { describeLoss } from '../checkpoints/format-progress.ts';
import { describeRetention, shownVerdict } from '../checkpoints/format-verdict.ts';
import { Time } from './time.tsx';
import { VerdictPill } from './verdict-pill.tsx';

interface CheckpointTableProps {
  readonly project: string;
  /** In the order of the rows. */
  readonly checkpoints: readonly CheckpointRecord[];
  /** The one that its job would resume from. */
  readonly newestUsable?: string | undefined;
  /** Runs by the checkpoint that they began from. Absent: not known here. */
  readonly startedFrom?: ReadonlyMap<string, readonly string[]>;
  /** Of several jobs: each row names its job. */
  readonly withJobs?: boolean;
}

/** Saves with their verdicts; each links to the page of its own. */
export function CheckpointTable({ checkpoints, withJobs = false, ...shared }: CheckpointTableProps): ReactNode {
  return (
    <table className="jobs">
      <thead>
        <tr>
          <th>Checkpoint</th>
          {withJobs && <th>Job</th>}
          <th>Verdict</th>
          <th>Holds</th>
          <th className="number">Size</th>
          <th>Saved</th>
          {shared.startedFrom !== undefined && <th>Used by attempts</th>}
        </tr>
      </thead>
      <tbody>
        {checkpoints.map((checkpoint) => (
          <CheckpointRow key={checkpoint.uid} checkpoint={checkpoint} withJobs={withJobs} {...shared} />
        ))}
      </tbody>
    </table>
  );
}

function CheckpointRow({
  checkpoint,
  project,
  newestUsable,
  startedFrom,
  withJobs,
}: Omit<CheckpointTableProps, 'checkpoints'> & { readonly checkpoint: CheckpointRecord }): ReactNode {
  const { name, uid, step, epoch, incarnation, bytes, createdAt, pin, deletedAt, jobId, jobName } = checkpoint;
  const retention = describeRetention(checkpoint);
  const loss = describeLoss(checkpoint);
  return (
    <tr className={deletedAt === null ? undefined : 'gone'}>
      <td className="name">
        <Link href={`/projects/${project}/checkpoints/${uid}`}>step {step.toLocaleString('en')}</Link>{' '}
        {name === newestUsable && (
          <span className="tag" title="The job would resume from this one.">
            newest usable
          </span>
        )}{' '}
        {pin !== null && (
          <span className="tag" title={`Pinned: ${pin}`}>
            pinned
          </span>
        )}{' '}
        {retention !== undefined && (
          <span className="tag" title={`Retention: it ${retention}`}>
            {checkpoint.retention?.keeps === true ? 'kept' : 'goes'}
          </span>
        )}
        <small>{name}</small>
      </td>
      {withJobs === true && (
        <td>{jobId === null ? jobName : <Link href={`/projects/${project}/jobs/${jobId}`}>{jobName}</Link>}</td>
      )}
      <td className="state">
        <VerdictPill verdict={shownVerdict(checkpoint)} />
      </td>
      <td className="detail">
        {describeHolds(checkpoint)}
        {loss !== undefined && <small>loss {loss}</small>}
      </td>
      <td className="number detail nowrap">{formatBytes(bytes)}</td>
      <td className="detail">
        <Time at={createdAt} />
        <small>
          by attempt {nameOfRun(epoch, incarnation)}
          {deletedAt !== null && ', object deleted'}
        </small>
      </td>
      {startedFrom !== undefined && <td className="detail">{startedFrom.get(name)?.join(', ') ?? '–'}</td>}
    </tr>
  );
}
