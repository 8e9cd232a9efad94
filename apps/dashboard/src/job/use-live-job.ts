import type { ApiClient, StreamedChange } from '@coxswain/api-client';
import { FINAL_JOB_STATES, type Job, type RankMap } from '@coxswain/api-types';
import { useCallback, useEffect, useState } from 'react';
import { followJob, type Follower, type JobAddress, type LivePart } from './follow-job.ts';
import { followRanks } from './follow-ranks.ts';
import { NOTHING_RECEIVED, withChanges, type ReceivedJob } from './live-job.ts';

/** A job as its page shows it, kept up to date by the event stream. */
export interface LiveJob extends ReceivedJob {
  /** Undefined until it was read. */
  readonly ranks: RankMap | undefined;
  /** Why the page is not live at the moment, and whether it tries again. */
  readonly problem: string | undefined;
  /** Takes an answer that came by another way, e.g. of a button. */
  readonly setJob: (job: Job) => void;
}

export function useLiveJob(api: ApiClient, project: string, id: string): LiveJob {
  const [received, setReceived] = useState(NOTHING_RECEIVED);
  const [problems, setProblems] = useState<Partial<Record<LivePart, string | undefined>>>({});

  useEffect(() => {
    const abort = new AbortController();
    const receive = (changes: readonly StreamedChange[]): void => setReceived((known) => withChanges(known, changes));
    const setProblem: Follower['setProblem'] = (part, problem) =>
      setProblems((known) => (known[part] === problem ? known : { ...known, [part]: problem }));
    void followJob(api, { project, id }, { signal: abort.signal, receive, setProblem });
    return () => abort.abort();
  }, [api, project, id]);

  const setJob = useCallback((job: Job) => setReceived((known) => withChanges(known, [{ kind: 'job', job }])), []);
  const { job } = received;
  const ranks = useRanks(
    api,
    { project, id },
    job && { epoch: job.epoch, isFinished: FINAL_JOB_STATES.has(job.state) },
  );
  return { ...received, ranks, problem: problems.stream ?? problems.curve, setJob };
}

/** The places of the attempt's ranks. */
function useRanks(
  api: ApiClient,
  { project, id }: JobAddress,
  job: { readonly epoch: number; readonly isFinished: boolean } | undefined,
): RankMap | undefined {
  const [ranks, setRanks] = useState<RankMap>();
  const { epoch, isFinished = false } = job ?? {};
  useEffect(() => {
    if (epoch === undefined) return undefined;
    const abort = new AbortController();
    void followRanks(api, { project, id }, { signal: abort.signal, isFinished, receive: setRanks });
    return () => abort.abort();
  }, [api, project, id, epoch, isFinished]);
  return ranks;
}
