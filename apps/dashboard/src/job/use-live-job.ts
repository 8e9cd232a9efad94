import { ApiProblem, type ApiClient, type StreamedChange } from '@coxswain/api-client';
import { FINAL_JOB_STATES, type Job, type RankMap } from '@coxswain/api-types';
import { useCallback, useEffect, useState } from 'react';
import { NOTHING_RECEIVED, withChanges, type ReceivedJob } from './live-job.ts';

/** A job as its page shows it, kept up to date by the event stream. */
export interface LiveJob extends ReceivedJob {
  /** Undefined until it was read. */
  readonly ranks: RankMap | undefined;
  /** Why the page is not live at the moment. */
  readonly problem: string | undefined;
  /** Takes an answer that came by another way, e.g. of a button. */
  readonly setJob: (job: Job) => void;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;
const RANKS_EVERY_MS = 3_000;
/** Changes are painted at most this often, however fast they come. */
const PAINT_EVERY_MS = 250;
/** As many as a wide screen has columns; where there are more steps, a point stands for several. */
const CURVE_POINTS = 2_000;

interface JobAddress {
  readonly project: string;
  readonly id: string;
}

export function useLiveJob(api: ApiClient, project: string, id: string): LiveJob {
  const [received, setReceived] = useState(NOTHING_RECEIVED);
  const [problem, setProblem] = useState<string>();

  useEffect(() => {
    const abort = new AbortController();
    const receive = (changes: readonly StreamedChange[]): void => setReceived((known) => withChanges(known, changes));
    void follow(api, { project, id }, { signal: abort.signal, receive, setProblem });
    return () => abort.abort();
  }, [api, project, id]);

  const setJob = useCallback((job: Job) => setReceived((known) => withChanges(known, [{ kind: 'job', job }])), []);
  const { job } = received;
  const ranks = useRanks(
    api,
    { project, id },
    job && { epoch: job.epoch, isFinished: FINAL_JOB_STATES.has(job.state) },
  );
  return { ...received, ranks, problem, setJob };
}

interface Follower {
  readonly signal: AbortSignal;
  readonly receive: (changes: readonly StreamedChange[]) => void;
  readonly setProblem: (problem: string | undefined) => void;
}

/** Reads the stream until the signal aborts; when it ends it is opened again, after a pause that grows while nothing answers. */
async function follow(api: ApiClient, at: JobAddress, { signal, receive, setProblem }: Follower): Promise<void> {
  let lastEventId: string | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  let isCurveRead = false;
  while (!signal.aborted) {
    const batch = createBatch(receive);
    let isBegun = false;
    try {
      for await (const change of api.changes(at, { signal, lastEventId })) {
        lastEventId = change.lastEventId ?? lastEventId;
        batch.add(change);
        if (change.kind === 'resync') void readCurve(api, at, { signal, receive, setProblem });
        if (isBegun) continue;
        isBegun = true;
        pauseMs = FIRST_PAUSE_MS;
        setProblem(undefined);
        // Only now: steps from here on come by the stream, so that none is missed in between; and so they do when it is opened again.
        if (!isCurveRead) void readCurve(api, at, { signal, receive, setProblem });
        isCurveRead = true;
      }
    } catch (error) {
      if (signal.aborted) return;
      setProblem(sentenceOf(error));
      if (error instanceof ApiProblem && error.status === 404) return;
    } finally {
      batch.flush();
    }
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** Reads the curve, and retries until it succeeds: the stream does not contain steps from before it was opened. */
async function readCurve(api: ApiClient, at: JobAddress, { signal, receive, setProblem }: Follower): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      const { items } = await api.steps(at, { maxPoints: CURVE_POINTS });
      if (signal.aborted) return;
      receive(items.map((point) => ({ kind: 'step', point })));
      if (pauseMs > FIRST_PAUSE_MS) setProblem(undefined);
      return;
    } catch (error) {
      if (signal.aborted) return;
      setProblem(`The curves are not complete. ${sentenceOf(error)}`);
      if (error instanceof ApiProblem && error.status === 404) return;
    }
    await pause(pauseMs, signal);
  }
}

/** The places of the attempt's ranks, polled while the job runs; the more ranks, the less often. */
function useRanks(
  api: ApiClient,
  { project, id }: JobAddress,
  job: { readonly epoch: number; readonly isFinished: boolean } | undefined,
): RankMap | undefined {
  const [ranks, setRanks] = useState<RankMap>();
  const { epoch, isFinished } = job ?? {};
  useEffect(() => {
    if (epoch === undefined) return undefined;
    const abort = new AbortController();
    const { signal } = abort;
    const read = async (): Promise<void> => {
      do {
        // The stream reports problems; a slightly old map does no harm.
        const map = await api.ranks({ project, id }).catch(() => undefined);
        if (signal.aborted) return;
        if (map !== undefined) setRanks(map);
        await pause(Math.max(RANKS_EVERY_MS, map?.items.length ?? 0), signal);
      } while (!signal.aborted && isFinished !== true);
    };
    void read();
    return () => abort.abort();
  }, [api, project, id, epoch, isFinished]);
  return ranks;
}

/** Collects changes and hands them on together. */
function createBatch(receive: Follower['receive']): { add: (change: StreamedChange) => void; flush: () => void } {
  let waiting: StreamedChange[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length > 0) receive(waiting);
    waiting = [];
  };
  return {
    add: (change) => {
      waiting.push(change);
      timer ??= setTimeout(flush, PAINT_EVERY_MS);
    },
    flush,
  };
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, durationMs);
    signal.addEventListener('abort', done);
  });
}
