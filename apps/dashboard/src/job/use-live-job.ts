import type { ApiClient } from '@coxswain/api-client';
import type { Job, JobEvent, RankPlace, StepPoint } from '@coxswain/api-types';
import { useEffect, useState } from 'react';
import { withPoints, type Curve } from './curve.ts';

/** A job as its page shows it, kept up to date by the event stream. */
export interface LiveJob {
  readonly job: Job | undefined;
  readonly events: readonly JobEvent[];
  readonly curve: Curve;
  readonly ranks: { readonly epoch: number; readonly items: readonly RankPlace[] };
  /** Why the page is not live at the moment. */
  readonly problem: string | undefined;
  /** Takes an answer that came by another way, e.g. of a button. */
  readonly setJob: (job: Job) => void;
}

const RECONNECT_MS = 2_000;
const RANKS_EVERY_MS = 3_000;
/** Points are painted at most this often, however fast they come. */
const PAINT_EVERY_MS = 250;

export function useLiveJob(api: ApiClient, project: string, id: string): LiveJob {
  const [job, setJob] = useState<Job>();
  const [events, setEvents] = useState<readonly JobEvent[]>([]);
  const [curve, setCurve] = useState<Curve>(new Map());
  const [ranks, setRanks] = useState<LiveJob['ranks']>({ epoch: 0, items: [] });
  const [problem, setProblem] = useState<string>();

  useEffect(() => {
    const at = { project, id };
    const abort = new AbortController();
    const { signal } = abort;

    const readOnce = async (): Promise<void> => {
      const [current, past, steps] = await Promise.all([api.job(at), api.jobEvents(at), api.steps(at)]);
      if (signal.aborted) return;
      setJob(current);
      setEvents(past.items);
      setCurve((known) => withPoints(known, steps.items));
    };

    const follow = async (): Promise<void> => {
      let lastEventId: string | undefined;
      while (!signal.aborted) {
        const painter = createPainter<StepPoint>((points) => setCurve((known) => withPoints(known, points)));
        try {
          await readOnce();
          for await (const change of api.changes(at, { signal, lastEventId })) {
            setProblem(undefined);
            if (change.kind === 'job') setJob(change.job);
            if (change.kind === 'step') painter.add(change.point);
            if (change.kind !== 'event') continue;
            lastEventId = change.lastEventId;
            setEvents((known) => withEvent(known, change.event));
          }
        } catch (error) {
          if (!signal.aborted) setProblem(error instanceof Error ? error.message : String(error));
        } finally {
          painter.flush();
        }
        await pause(RECONNECT_MS, signal);
      }
    };

    const watchRanks = async (): Promise<void> => {
      while (!signal.aborted) {
        await api.ranks(at).then(
          (map) => !signal.aborted && setRanks(map),
          () => undefined, // The stream says what is wrong; a map that is a little old does no harm.
        );
        await pause(RANKS_EVERY_MS, signal);
      }
    };

    void follow();
    void watchRanks();
    return () => abort.abort();
  }, [api, project, id]);

  return { job, events, curve, ranks, problem, setJob };
}

function withEvent(known: readonly JobEvent[], event: JobEvent): readonly JobEvent[] {
  return known.some(({ id }) => id === event.id) ? known : [...known, event].sort((a, b) => a.id - b.id);
}

/** Collects points and hands them on in batches. */
function createPainter<T>(paint: (points: readonly T[]) => void): { add: (point: T) => void; flush: () => void } {
  let waiting: T[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length > 0) paint(waiting);
    waiting = [];
  };
  return {
    add: (point) => {
      waiting.push(point);
      timer ??= setTimeout(flush, PAINT_EVERY_MS);
    },
    flush,
  };
}

function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, durationMs);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
