import {
  type Job,
  type JobStacks,
  silenceWords,
  STACKS_WITHIN_MS,
  stackHolders,
  type StackGroup,
} from '@coxswain/api-types';
import { mostAndOdd } from '@coxswain/health';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useSession } from '../session.tsx';

/** The page shows at most this many stacks, the rarest first; `coxswain stacks` prints all. */
const MOST_SHOWN = 40;

interface StacksPanelProps {
  readonly job: Job;
  readonly project: string;
  readonly isFinished: boolean;
}

/** Shows the current stack traces of a job's ranks on request. An answer stays when its ranks are gone. */
export function StacksPanel({ job, project, isFinished }: StacksPanelProps): ReactNode {
  const { api } = useSession();
  const { data, error, isPending, mutate } = useMutation({ mutationFn: () => api.stacks({ project, id: job.id }) });
  const canAsk = !isFinished && job.attempts.at(-1)?.stage === 'Released';
  if (!canAsk && data === undefined && !isPending) return null;
  return (
    <section className="panel" data-testid="stacks">
      <h2>Stacks</h2>
      <p className="hint">
        Current stack traces of the ranks, for a job that hangs or is slow. Training continues meanwhile.
      </p>
      <button type="button" disabled={isPending || !canAsk} onClick={() => mutate()}>
        {data === undefined ? 'Ask the ranks' : 'Ask again'}
      </button>
      {isPending && <span className="empty"> Each has {STACKS_WITHIN_MS / 1_000} s to answer…</span>}
      {error !== null && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      {data !== undefined && <Answer stacks={data} />}
    </section>
  );
}

function Answer({ stacks }: { readonly stacks: JobStacks }): ReactNode {
  const { takenAt, epoch, rankCount, groups, silent, leftOut } = stacks;
  const { most, odd } = mostAndOdd(groups);
  const rarest = odd.slice(-MOST_SHOWN);
  const others = groups.filter(({ isMain }) => !isMain);
  return (
    <>
      <p>
        {rankCount === 1 ? '1 rank' : `${rankCount.toLocaleString('en')} ranks`} of attempt {epoch} at{' '}
        <time dateTime={takenAt}>{new Date(takenAt).toLocaleTimeString()}</time>.
      </p>
      {most !== undefined && <Stack group={most} of={rankCount} />}
      {most !== undefined && odd.length > 0 && <p>Other stacks, the rarest last:</p>}
      {rarest.length < odd.length && (
        <p className="hint">{odd.length - rarest.length} more are not shown; coxswain stacks prints all.</p>
      )}
      {rarest.map((group) => (
        <Stack key={group.ranks} group={group} of={rankCount} />
      ))}
      {silent.length > 0 && (
        <>
          <p>No stack trace:</p>
          <ul className="silent">
            {silent.map((one) => (
              <li key={`${one.ranks} ${one.why}`}>{silenceWords(one)}</li>
            ))}
          </ul>
        </>
      )}
      {leftOut !== '' && (
        <p>
          The answer was too large: stacks of ranks {leftOut} are incomplete. Ask for one rank with coxswain stacks{' '}
          {'--rank'}.
        </p>
      )}
      {others.length > 0 && (
        <details>
          <summary>
            Other threads have {others.length} different {others.length === 1 ? 'stack' : 'stacks'}
          </summary>
          {others.slice(0, MOST_SHOWN).map((group) => (
            <Stack key={`${group.thread} ${group.ranks} ${group.frames[0]}`} group={group} of={rankCount} />
          ))}
        </details>
      )}
    </>
  );
}

/** The innermost function first, as py-spy and pstack print it. */
function Stack({ group, of }: { readonly group: StackGroup; readonly of: number }): ReactNode {
  const { frames, isCut } = group;
  return (
    <figure className="stack">
      <figcaption>{stackHolders(group, of)}</figcaption>
      <pre tabIndex={0}>
        {[...frames, ...(isCut === true ? ['… functions further out are left out'] : [])].join('\n')}
      </pre>
    </figure>
  );
}
