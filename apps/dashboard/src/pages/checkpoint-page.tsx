import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { CheckpointDetails } from '../components/checkpoint-details.tsx';
import { useSession } from '../session.tsx';

const REFRESH_MS = 5_000;

/** One checkpoint: is it good, what is in it, and how does training go on from it? */
export function CheckpointPage({ project, uid }: { readonly project: string; readonly uid: string }): ReactNode {
  const { api } = useSession();
  const { data: checkpoint, error } = useQuery({
    queryKey: ['checkpoint', project, uid],
    queryFn: () => api.checkpoint({ project, uid }),
    refetchInterval: REFRESH_MS,
  });
  const jobId = checkpoint?.jobId ?? '';
  const { data: job } = useQuery({
    queryKey: ['job of checkpoint', project, jobId],
    queryFn: () => api.job({ project, id: jobId }),
    enabled: jobId !== '',
    refetchInterval: REFRESH_MS,
  });
  return (
    <>
      {error !== null && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      {checkpoint === undefined && error === null && <p className="waiting">Reading the checkpoint…</p>}
      {checkpoint !== undefined && <CheckpointDetails project={project} checkpoint={checkpoint} job={job} />}
    </>
  );
}
