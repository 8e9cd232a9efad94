import {
  MAX_PIN_CHARACTERS,
  VERIFICATION_LEVELS,
  type CheckpointDetail,
  type VerificationLevel,
} from '@coxswain/api-types';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState, type ReactNode } from 'react';
import { LEVEL_MEANINGS } from '../checkpoints/format-verdict.ts';
import { useSession } from '../session.tsx';

interface CheckpointActionsProps {
  readonly project: string;
  readonly checkpoint: CheckpointDetail;
}

/** Verify it, pin it; with the reason in place of a button that the user must not push. */
export function CheckpointActions({ project, checkpoint }: CheckpointActionsProps): ReactNode {
  const { me } = useSession();
  const why = whyNot(checkpoint, me.role === 'viewer');
  return (
    <>
      {why !== undefined && <p className="hint">{why}</p>}
      <Verify project={project} uid={checkpoint.uid} isDisabled={why !== undefined} />
      <Pin project={project} checkpoint={checkpoint} isDisabled={why !== undefined} />
    </>
  );
}

function whyNot({ deletedAt }: CheckpointDetail, isViewer: boolean): string | undefined {
  if (deletedAt !== null) return 'The Checkpoint object was deleted: it cannot be verified or pinned any more.';
  if (isViewer) return 'Your role is viewer, which may not verify or pin checkpoints.';
  return undefined;
}

interface VerifyProps {
  readonly project: string;
  readonly uid: string;
  readonly isDisabled: boolean;
}

function Verify({ project, uid, isDisabled }: VerifyProps): ReactNode {
  const { api } = useSession();
  const refresh = useRefresh(project, uid);
  const [level, setLevel] = useState<VerificationLevel>('V3');
  const { data, error, isPending, mutate } = useMutation({
    mutationFn: () => api.verifyCheckpoint({ project, uid }, { level }),
    onSuccess: refresh,
  });
  return (
    <form
      className="act"
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <label>
        <span className="hint">Read</span>
        <select
          name="level"
          value={level}
          disabled={isDisabled}
          onChange={(event) => setLevel(VERIFICATION_LEVELS.find((one) => one === event.target.value) ?? 'V3')}
        >
          {VERIFICATION_LEVELS.map((one) => (
            <option key={one} value={one}>{`${one}: ${LEVEL_MEANINGS[one]}`}</option>
          ))}
        </select>
      </label>
      <button type="submit" disabled={isDisabled || isPending}>
        Verify
      </button>
      <Outcome error={error}>
        {data !== undefined && `A pod will verify it at ${data.level}. The verdict appears below.`}
      </Outcome>
    </form>
  );
}

interface PinProps {
  readonly project: string;
  readonly checkpoint: CheckpointDetail;
  readonly isDisabled: boolean;
}

function Pin({ project, checkpoint: { uid, pin }, isDisabled }: PinProps): ReactNode {
  const { api } = useSession();
  const refresh = useRefresh(project, uid);
  const hint = useId();
  const [reason, setReason] = useState('');
  const at = { project, uid };
  const { error, isPending, mutate } = useMutation({
    mutationFn: (wanted: string | null) =>
      wanted === null ? api.unpinCheckpoint(at) : api.pinCheckpoint(at, { reason: wanted }),
    onSuccess: () => {
      setReason('');
      return refresh();
    },
  });
  return (
    <form
      className="act"
      onSubmit={(event) => {
        event.preventDefault();
        mutate(reason.trim());
      }}
    >
      <input
        name="reason"
        type="text"
        required
        aria-label="Why it is kept"
        aria-describedby={hint}
        placeholder={pin === null ? 'Why it is kept' : 'Another reason'}
        maxLength={MAX_PIN_CHARACTERS}
        value={reason}
        disabled={isDisabled}
        onChange={(event) => setReason(event.target.value)}
      />
      <button type="submit" disabled={isDisabled || isPending || reason.trim() === ''}>
        Pin
      </button>
      {pin !== null && (
        <button type="button" disabled={isDisabled || isPending} onClick={() => mutate(null)}>
          Unpin
        </button>
      )}
      <span id={hint} className="hint">
        {pin === null ? 'A pinned checkpoint is never deleted by retention.' : `Pinned: ${pin}`}
      </span>
      <Outcome error={error} />
    </form>
  );
}

/** What came of a request: an error as a sentence, or that it was taken. */
function Outcome({ error, children }: { readonly error: Error | null; readonly children?: ReactNode }): ReactNode {
  if (error === null) return <span role="status">{children}</span>;
  return (
    <span className="problem" role="alert">
      {error.message}
    </span>
  );
}

/** Has the page read the checkpoint again. */
function useRefresh(project: string, uid: string): () => Promise<void> {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: ['checkpoint', project, uid] });
}
