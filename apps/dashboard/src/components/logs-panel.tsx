import { fillLogLink, type Job } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { LogTail } from '../job/log-tail.ts';
import { useSession } from '../session.tsx';

/** How often the page shows what has come. */
const SHOW_MS = 250;

interface LogsPanelProps {
  readonly job: Job;
  readonly project: string;
}

/** Which log, as the form has it. */
interface Choice {
  /** Empty: all ranks. */
  readonly rank: string;
  /** Empty: the newest. */
  readonly attempt: string;
  readonly grep: string;
  readonly follow: boolean;
}

const FIRST: Choice = { rank: '0', attempt: '', grep: '', follow: false };

/** Shows, searches, follows and downloads logs of ranks, on request. */
export function LogsPanel({ job, project }: LogsPanelProps): ReactNode {
  const { api, me } = useSession();
  const [choice, setChoice] = useState(FIRST);
  const [shown, setShown] = useState<{ readonly text: string; readonly isCut: boolean }>();
  const [problem, setProblem] = useState<string>();
  const [isReading, setReading] = useState(false);
  const reading = useRef<AbortController>(undefined);
  useEffect(() => () => reading.current?.abort(), []);
  if (job.attempts.length === 0) return null;

  const read = async (follow: boolean, take: (log: AsyncIterable<Uint8Array>) => Promise<void>): Promise<void> => {
    reading.current?.abort();
    const own = new AbortController();
    reading.current = own;
    setProblem(undefined);
    setReading(true);
    try {
      await take(await api.logs({ project, id: job.id }, { ...queryOf(choice), follow, signal: own.signal }));
    } catch (error) {
      if (!own.signal.aborted) setProblem((error as Error).message);
    } finally {
      if (reading.current === own) setReading(false);
    }
  };
  const show = (): Promise<void> =>
    read(choice.follow, async (log) => {
      const tail = new LogTail();
      const present = (): void => setShown({ text: safeText(tail.text), isCut: tail.isCut });
      let presentedMs = performance.now();
      for await (const chunk of log) {
        tail.push(chunk);
        if (performance.now() - presentedMs < SHOW_MS) continue;
        presentedMs = performance.now();
        present();
      }
      present();
    });
  const download = (): Promise<void> =>
    read(false, async (log) => {
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      for await (const chunk of log) chunks.push(Uint8Array.from(chunk));
      save(new Blob(chunks, { type: 'text/plain' }), fileName(job, choice));
    });

  return (
    <section className="panel" data-testid="logs">
      <h2>Logs</h2>
      <p className="hint">
        The log of the pod that runs a rank. If the pod is gone: what was kept beside the checkpoints. Without a rank:
        all ranks.
        {me.logLink !== undefined && (
          <>
            {' '}
            <a href={linkOf(me.logLink, job, choice)}>The whole log</a> is in another system.
          </>
        )}
      </p>
      <form
        className="act"
        onSubmit={(event) => {
          event.preventDefault();
          void show();
        }}
      >
        <label>
          Rank{' '}
          <input
            name="rank"
            type="number"
            min={0}
            placeholder="all"
            value={choice.rank}
            onChange={({ target }) => setChoice({ ...choice, rank: target.value })}
          />
        </label>
        <label>
          Attempt{' '}
          <select
            name="attempt"
            value={choice.attempt}
            onChange={({ target }) => setChoice({ ...choice, attempt: target.value })}
          >
            <option value="">newest</option>
            {job.attempts.map(({ epoch }) => (
              <option key={epoch} value={epoch}>
                {epoch}
              </option>
            ))}
          </select>
        </label>
        <label>
          Lines that contain{' '}
          <input
            name="grep"
            type="search"
            maxLength={256}
            value={choice.grep}
            onChange={({ target }) => setChoice({ ...choice, grep: target.value })}
          />
        </label>
        <label>
          <input
            name="follow"
            type="checkbox"
            checked={choice.follow}
            onChange={({ target }) => setChoice({ ...choice, follow: target.checked })}
          />{' '}
          follow
        </label>
        <button type="submit">Show</button>
        <button type="button" onClick={() => void download()}>
          Download
        </button>
        {isReading && (
          <button type="button" onClick={() => reading.current?.abort()}>
            Stop
          </button>
        )}
      </form>
      {isReading && shown === undefined && <p className="empty">Reading the log. A kept log takes some seconds…</p>}
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {shown !== undefined && (
        <figure className="stack">
          {shown.isCut && <figcaption>The newest megabyte; the download has all.</figcaption>}
          <pre tabIndex={0}>{shown.text === '' ? 'No such lines.' : shown.text}</pre>
        </figure>
      )}
    </section>
  );
}

function queryOf({ rank, attempt, grep }: Choice) {
  return {
    ...(rank === '' ? { allRanks: true } : { rank: Number(rank) }),
    attempt: attempt === '' ? undefined : Number(attempt),
    grep: grep === '' ? undefined : grep,
  };
}

function linkOf(template: string, { namespace, name, attempts }: Job, { rank, attempt }: Choice): string {
  const newest = String(attempts.at(-1)?.epoch ?? '');
  return fillLogLink(template, { namespace, job: name, attempt: attempt === '' ? newest : attempt, rank });
}

/** As `gpt-attempt-2-rank-3.log`. */
function fileName({ name, attempts }: Job, { rank, attempt }: Choice): string {
  const epoch = attempt === '' ? (attempts.at(-1)?.epoch ?? 0) : attempt;
  return `${name}-attempt-${epoch}-${rank === '' ? 'all-ranks' : `rank-${rank}`}.log`;
}

function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
