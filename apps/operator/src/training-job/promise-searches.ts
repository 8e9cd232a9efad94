import { effectiveSpec, type TrainingJob } from '@coxswain/api-types';
import type { PlannerAnswer, PlannerQuestion } from '@coxswain/planner-process';
import type { NodeQuestion, SchedulerView } from '@coxswain/scheduling';

/** Parts of {@link searchForPromise}. */
export interface PromiseSearchParts {
  /** Searches in another process. */
  readonly searcher: {
    ask(
      question: PlannerQuestion & { readonly kind: 'findNodes' },
      options: { readonly tenant: string },
    ): Promise<PlannerAnswer<'findNodes'>>;
  };
  readonly job: (uid: string) => TrainingJob | undefined;
}

/** Takes turns with the tenants, so that it waits for no more than one question of each. No namespace has this name. */
const TENANT = 'nodes that are held';

/** Searches nodes that are to be held for a job, in another process. */
export async function searchForPromise(
  { job: { uid }, request, capacity }: NodeQuestion,
  { searcher, job }: PromiseSearchParts,
): ReturnType<NonNullable<SchedulerView['findNodes']>> {
  const asking = job(uid);
  const spec = asking === undefined ? undefined : effectiveSpec(asking.spec, asking.status?.plan);
  if (spec === undefined) return undefined;
  // The request of another process has no functions: traffic follows from the spec.
  const { traffic: _, ...plain } = request;
  const search = { spec: { ...spec, layout: request.layout }, request: plain, avoided: [] };
  const found = await searcher.ask({ kind: 'findNodes', search, capacity }, { tenant: TENANT });
  return found.kind === 'placed' ? found : undefined;
}
