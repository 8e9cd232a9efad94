import type { FabricSnapshot } from '@coxswain/api-types';
import { changeSentence, formatFactChange } from '@coxswain/fabric';
import { useQuery } from '@tanstack/react-query';
import { Fragment, type ReactNode, useState } from 'react';
import { snapshotSentence } from '../fabric/history-sentences.ts';
import { useSession } from '../session.tsx';

/** `coxswain fabric history` lists older ones. */
const MOST_SNAPSHOTS = 50;

/** The changes of the fabric, newest first; details are read on request. */
export function FabricHistory(): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <section className="panel">
      <h2>History</h2>
      <button type="button" className="link" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        {isOpen ? 'hide' : 'show when it changed'}
      </button>
      {isOpen && <Snapshots />}
    </section>
  );
}

function Snapshots(): ReactNode {
  const { api } = useSession();
  const [openId, setOpenId] = useState<string>();
  const { data, error } = useQuery({
    queryKey: ['fabric', 'snapshots'],
    queryFn: () => api.fabricSnapshots({ pageSize: MOST_SNAPSHOTS }),
  });
  if (error !== null) return <Problem message={error.message} />;
  if (data === undefined) return <p className="waiting">Reading the recorded changes…</p>;
  if (data.items.length === 0) return <p className="empty">No change is recorded yet.</p>;
  return (
    <div className="tall" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th>Since</th>
            <th className="number">Nodes</th>
            <th className="number">GPUs</th>
            <th className="number">Islands</th>
            <th>What changed</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {data.items.map((snapshot) => (
            <Fragment key={snapshot.id}>
              <SnapshotRow
                snapshot={snapshot}
                isOpen={openId === snapshot.id}
                onToggle={() => setOpenId(openId === snapshot.id ? undefined : snapshot.id)}
              />
              {openId === snapshot.id && (
                <tr>
                  <td colSpan={6}>
                    <Changes id={snapshot.id} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
      {data.nextPageToken !== undefined && (
        <p className="hint">
          Older ones: <code>coxswain fabric history</code>
        </p>
      )}
    </div>
  );
}

interface SnapshotRowProps {
  readonly snapshot: FabricSnapshot;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function SnapshotRow({ snapshot, isOpen, onToggle }: SnapshotRowProps): ReactNode {
  const { takenAt, seenUntil, nodes, gpus, islands, changes } = snapshot;
  return (
    <tr>
      <td>
        <time dateTime={takenAt} title={`unchanged until ${new Date(seenUntil).toLocaleString()}`}>
          {new Date(takenAt).toLocaleString()}
        </time>
      </td>
      {[nodes, gpus, islands].map((count, column) => (
        <td key={column} className="number">
          {count.toLocaleString('en')}
        </td>
      ))}
      <td>{snapshotSentence(snapshot)}</td>
      <td>
        {changes !== null && (
          <button type="button" className="link" aria-expanded={isOpen} onClick={onToggle}>
            {isOpen ? 'hide' : 'show'}
          </button>
        )}
      </td>
    </tr>
  );
}

/** What changed since the snapshot before. */
function Changes({ id }: { readonly id: string }): ReactNode {
  const { api } = useSession();
  const { data, error } = useQuery({
    queryKey: ['fabric', 'changes', id],
    queryFn: () => api.fabricChanges(id),
    // What is recorded does not change.
    staleTime: Infinity,
  });
  if (error !== null) return <Problem message={error.message} />;
  if (data === undefined) return <p className="waiting">Reading what changed…</p>;
  return (
    <>
      {data.changes.map((change, at) => (
        <div key={at}>
          <p>{changeSentence(change)}</p>
          <ul>
            {change.facts.map((fact) => (
              <li key={fact.fact}>
                {fact.fact}: <code>{formatFactChange(change.kind, fact, '→')}</code>
              </li>
            ))}
          </ul>
        </div>
      ))}
      {data.hasMore && <p className="hint">The list of changes is not complete.</p>}
    </>
  );
}

function Problem({ message }: { readonly message: string }): ReactNode {
  return (
    <p className="problem" role="alert">
      {message}
    </p>
  );
}
