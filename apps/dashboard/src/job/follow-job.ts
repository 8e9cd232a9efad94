import { ApiProblem, type ApiClient, type StreamedChange } from '@coxswain/api-client';
import { pause } from './pause.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;
/** Changes are painted at most this often, however fast they come. */
const PAINT_EVERY_MS = 250;
/** As many as a wide screen has columns; where there are more steps, a point stands for several. */
const CURVE_POINTS = 2_000;

/** The routes that a job is followed by. */
type JobRoutes = Pick<ApiClient, 'changes' | 'steps'>;

/** Project and id of a job. */
export interface JobAddress {
  readonly project: string;
  readonly id: string;
}

/** What is kept up to date: the job with its events and new steps, and the curve of all its steps. */
export type LivePart = 'stream' | 'curve';

/** Receives what the API sends of a job, until its signal aborts. */
export interface Follower {
  readonly signal: AbortSignal;
  readonly receive: (changes: readonly StreamedChange[]) => void;
  /** Why that part is not up to date at the moment; undefined: it is. */
  readonly setProblem: (part: LivePart, problem: string | undefined) => void;
}

/** Reads the stream until the signal aborts; when it ends it is opened again, after a pause that grows while nothing answers. */
export async function followJob(
  api: JobRoutes,
  at: JobAddress,
  { signal, receive, setProblem }: Follower,
): Promise<void> {
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
        setProblem('stream', undefined);
        // Only now: steps from here on come by the stream, so that none is missed in between; and so they do when it is opened again.
        if (!isCurveRead) void readCurve(api, at, { signal, receive, setProblem });
        isCurveRead = true;
      }
    } catch (error) {
      if (signal.aborted) return;
      setProblem('stream', problemOf(error));
      if (isGone(error)) return;
    } finally {
      batch.flush();
    }
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** Reads the curve, and retries until it succeeds: the stream does not contain steps from before it was opened. */
async function readCurve(api: JobRoutes, at: JobAddress, { signal, receive, setProblem }: Follower): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      const { items } = await api.steps(at, { maxPoints: CURVE_POINTS });
      if (signal.aborted) return;
      receive(items.map((point) => ({ kind: 'step', point })));
      setProblem('curve', undefined);
      return;
    } catch (error) {
      if (signal.aborted) return;
      setProblem('curve', `The curves are not complete. ${problemOf(error)}`);
      if (isGone(error)) return;
    }
    await pause(pauseMs, signal);
  }
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

/** There is no such job, or no more: asking again would not help. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 404;
}

function problemOf(error: unknown): string {
  const sentence = error instanceof Error ? error.message : String(error);
  return isGone(error) ? sentence : `${sentence} This page tries again by itself.`;
}
