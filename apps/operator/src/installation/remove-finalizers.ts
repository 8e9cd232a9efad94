import { FINALIZER, POD_FINALIZER } from '@coxswain/api-types';
import {
  isDeniedByAdmission,
  isInvalid,
  isKindUnknown,
  isNotFound,
  type KubeClient,
  type KubeList,
  type KubeObject,
} from '@coxswain/kube';
import { podsPath, trainingJobsPath } from '../cluster/paths.ts';
import { withoutFinalizer } from '../cluster/without-finalizer.ts';

/** Inputs of {@link removeFinalizers}. */
export interface RemoveFinalizersParts {
  readonly client: Pick<KubeClient, 'list' | 'patch'>;
  /** Waits before the next pass; rejects to give up. */
  readonly pause: () => Promise<void>;
}

/** Number of objects whose finalizers were removed. */
export interface RemovedFinalizers {
  readonly pods: number;
  readonly jobs: number;
}

/**
 * Removes our finalizers from every pod and job of the cluster, for an uninstall. Nothing is deleted, and running pods continue. An operator that is just
 * ending may still have created objects, so the work ends after two consecutive passes without finalizers. An object that the server refuses does not
 * block others; rejects if only such objects are left.
 */
export async function removeFinalizers({ client, pause }: RemoveFinalizersParts): Promise<RemovedFinalizers> {
  const done = { pods: 0, jobs: 0 };
  for (let quiet = 0, stuck = 0; quiet < QUIET_PASSES;) {
    const pods = await runPass(client, { path: podsPath(), pathOf: podsPath, finalizer: POD_FINALIZER });
    const jobs = await runPass(client, { path: trainingJobsPath(), pathOf: trainingJobsPath, finalizer: FINALIZER });
    done.pods += pods.taken;
    done.jobs += jobs.taken;
    const held = pods.held + jobs.held;
    quiet = held === 0 ? quiet + 1 : 0;
    stuck = held > 0 && pods.taken + jobs.taken === 0 ? stuck + 1 : 0;
    if (stuck === STUCK_PASSES) throw stillHeld({ done, held, refusals: [...pods.refusals, ...jobs.refusals] });
    if (quiet < QUIET_PASSES) await pause();
  }
  return done;
}

const QUIET_PASSES = 2;
const STUCK_PASSES = 5;
/** A whole pod is 25 kB. */
const OBJECTS_PER_PAGE = 500;
const CALLS_AT_ONCE = 16;
const REFUSALS_LISTED = 5;

interface Pass {
  /** Objects with a finalizer when they were listed. */
  held: number;
  taken: number;
  readonly refusals: Refusal[];
}

interface Refusal {
  readonly path: string;
  readonly error: unknown;
}

/** One pass over all objects. Does not select by label, because labels may have been removed. */
async function runPass(
  client: RemoveFinalizersParts['client'],
  what: {
    readonly path: string;
    readonly pathOf: (place: { readonly namespace?: string | undefined; readonly name: string }) => string;
    readonly finalizer: string;
  },
): Promise<Pass> {
  const seen: Pass = { held: 0, taken: 0, refusals: [] };
  for (let next: string | undefined = ''; next !== undefined;) {
    const page: Awaited<ReturnType<typeof pageOf>> = await pageOf(client, { path: what.path, from: next });
    const ours = page.items.filter(({ metadata }) => metadata.finalizers?.includes(what.finalizer) === true);
    seen.held += ours.length;
    for (let start = 0; start < ours.length; start += CALLS_AT_ONCE) {
      const some = ours.slice(start, start + CALLS_AT_ONCE);
      await Promise.all(some.map((one) => take(client, { one, ...what, seen })));
    }
    next = page.next;
  }
  return seen;
}

async function pageOf(
  client: RemoveFinalizersParts['client'],
  { path, from }: { readonly path: string; readonly from: string },
): Promise<{ readonly items: readonly KubeObject[]; readonly next: string | undefined }> {
  try {
    const page: KubeList<KubeObject> = await client.list<KubeObject>(path, {
      limit: OBJECTS_PER_PAGE,
      ...(from === '' ? {} : { continue: from }),
    });
    const next = page.metadata.continue;
    return { items: page.items, next: next === '' ? undefined : next };
  } catch (error) {
    // The definition may have been deleted before the uninstall; then there are no jobs.
    if (isKindUnknown(error)) return { items: [], next: undefined };
    throw error;
  }
}

async function take(
  client: RemoveFinalizersParts['client'],
  what: Pick<Parameters<typeof runPass>[1], 'pathOf' | 'finalizer'> & { readonly one: KubeObject; readonly seen: Pass },
): Promise<void> {
  const { one, seen } = what;
  const path = what.pathOf(one.metadata);
  try {
    await client.patch(path, withoutFinalizer(one, what.finalizer), { type: 'json' });
    seen.taken += 1;
  } catch (error) {
    // Deleted or changed meanwhile; the next pass reads it.
    const isOutdated = isNotFound(error) || (isInvalid(error) && !isDeniedByAdmission(error));
    if (!isOutdated) seen.refusals.push({ path, error });
  }
}

function stillHeld(what: {
  readonly done: RemovedFinalizers;
  readonly held: number;
  readonly refusals: readonly Refusal[];
}): Error {
  const { done, held, refusals } = what;
  const listed = refusals.slice(0, REFUSALS_LISTED).map(({ path, error }) => `${path}: ${messageOf(error)}`);
  const why =
    listed.length === 0
      ? 'Another program keeps changing them'
      : `The API server refuses, for instance, ${listed.join('; ')}`;
  return new Error(
    `removed finalizers from ${done.pods} pods and ${done.jobs} jobs; ${held} more still have one after ${STUCK_PASSES} passes without progress. ${why}`,
    { cause: refusals[0]?.error },
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
