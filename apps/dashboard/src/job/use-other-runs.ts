import { FINAL_JOB_STATES, type Job } from '@coxswain/api-types';
import { useQueries, type UseQueryResult } from '@tanstack/react-query';
import { useSession } from '../session.tsx';
import { type Curve, withPoints } from './curve.ts';
import type { RunAttempt } from './run-series.ts';

const REFRESH_MS = 10_000;
/** As many as a wide screen has columns. */
const CURVE_POINTS = 2_000;

/** A run that is laid over another one. */
interface OtherRun {
  readonly id: string;
  readonly name: string;
  readonly attempts: readonly RunAttempt[];
  readonly curve: Curve;
}

/** `problem`: why a run is not there. */
interface OtherRuns {
  readonly runs: readonly OtherRun[];
  readonly problem: string | undefined;
}

interface Answer {
  readonly job: Job;
  readonly curve: Curve;
}

/** Other jobs of the project with their curves, read again while they run. */
export function useOtherRuns(project: string, ids: readonly string[]): OtherRuns {
  const { api } = useSession();
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ['other run', project, id],
      queryFn: async (): Promise<Answer> => {
        const at = { project, id };
        const [job, steps] = await Promise.all([api.job(at), api.steps(at, { maxPoints: CURVE_POINTS })]);
        return { job, curve: withPoints(new Map(), steps.items) };
      },
      refetchInterval: ({ state: { data } }: { readonly state: { readonly data?: Answer | undefined } }) =>
        data !== undefined && FINAL_JOB_STATES.has(data.job.state) ? (false as const) : REFRESH_MS,
    })),
    combine: joined,
  });
}

/** A function of the module, so that its answer is the same object while nothing has changed. */
function joined(answers: readonly UseQueryResult<Answer>[]): OtherRuns {
  return {
    runs: answers.flatMap(({ data }) =>
      data === undefined
        ? []
        : [{ id: data.job.id, name: data.job.name, attempts: data.job.attempts, curve: data.curve }],
    ),
    problem: answers.find(({ error }) => error !== null)?.error?.message,
  };
}
