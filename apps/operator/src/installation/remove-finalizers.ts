import { FINALIZER, POD_FINALIZER } from '@coxswain/api-types';
import { isInvalid, isKindUnknown, isNotFound, type KubeClient, type KubeList, type KubeObject } from '@coxswain/kube';
import { podsPath, trainingJobsPath } from '../cluster/paths.ts';
import { withoutFinalizer } from '../cluster/without-finalizer.ts';

/** What letting go is done with. */
export interface RemoveFinalizersParts {
  readonly client: Pick<KubeClient, 'list' | 'patch'>;
  /** Waits before the next look; rejects to give up. */
  readonly pause: () => Promise<void>;
}

/** How many objects were let go of by this very walk. */
export interface RemovedFinalizers {
  readonly pods: number;
  readonly jobs: number;
}

/**
 * Takes our finalizers from every pod and every job of the cluster: for an uninstall, after which nobody else would. Nothing is deleted, and what runs
 * goes on. An operator that ends at this moment may have made something a moment ago, so it is done when two looks in a row find nothing held. What
 * the server refuses holds up nothing else; rejects when nothing but that is left.
 */
export async function removeFinalizers({ client, pause }: RemoveFinalizersParts): Promise<RemovedFinalizers> {
  const done = { pods: 0, jobs: 0 };
  for (let quiet = 0, stuck = 0; quiet < QUIET_LOOKS;) {
    const pods = await look(client, { path: podsPath(), pathOf: podsPath, finalizer: POD_FINALIZER });
    const jobs = await look(client, { path: trainingJobsPath(), pathOf: trainingJobsPath, finalizer: FINALIZER });
    done.pods += pods.taken;
    done.jobs += jobs.taken;
    const held = pods.held + jobs.held;
    quiet = held === 0 ? quiet + 1 : 0;
    stuck = held > 0 && pods.taken + jobs.taken === 0 ? stuck + 1 : 0;
    if (stuck === STUCK_LOOKS) throw stillHeld({ done, held, refusals: [...pods.refusals, ...jobs.refusals] });
    if (quiet < QUIET_LOOKS) await pause();
  }
  return done;
}

const QUIET_LOOKS = 2;
const STUCK_LOOKS = 5;
/** A whole pod is 25 kB. */
const OBJECTS_PER_PAGE = 500;
const CALLS_AT_ONCE = 16;
const REFUSALS_TOLD = 5;

interface Look {
  /** How many were held when they were listed. */
  held: number;
  taken: number;
  readonly refusals: Refusal[];
}

interface Refusal {
  readonly path: string;
  readonly error: unknown;
}

/** One look at every object there. Labels say nothing here: anybody may have taken them away. */
async function look(
  client: RemoveFinalizersParts['client'],
  what: {
    readonly path: string;
    readonly pathOf: (place: { readonly namespace?: string | undefined; readonly name: string }) => string;
    readonly finalizer: string;
  },
): Promise<Look> {
  const seen: Look = { held: 0, taken: 0, refusals: [] };
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
    // No definition, so no jobs: whoever deleted it before the uninstall would never come to the end of it.
    if (isKindUnknown(error)) return { items: [], next: undefined };
    throw error;
  }
}

async function take(
  client: RemoveFinalizersParts['client'],
  what: Pick<Parameters<typeof look>[1], 'pathOf' | 'finalizer'> & { readonly one: KubeObject; readonly seen: Look },
): Promise<void> {
  const { one, seen } = what;
  const path = what.pathOf(one.metadata);
  try {
    await client.patch(path, withoutFinalizer(one, what.finalizer), { type: 'json' });
    seen.taken += 1;
  } catch (error) {
    // Gone meanwhile, or changed: the next look sees what it is now.
    if (!isNotFound(error) && !isInvalid(error)) seen.refusals.push({ path, error });
  }
}

function stillHeld(what: {
  readonly done: RemovedFinalizers;
  readonly held: number;
  readonly refusals: readonly Refusal[];
}): Error {
  const { done, held, refusals } = what;
  const told = refusals.slice(0, REFUSALS_TOLD).map(({ path, error }) => `${path}: ${wordsOf(error)}`);
  const why =
    told.length === 0 ? 'Something keeps changing them' : `The server refuses, first of all, ${told.join('; ')}`;
  return new Error(
    `let go of ${done.pods} pods and ${done.jobs} jobs; ${held} more are held still, after ${STUCK_LOOKS} looks that took nothing. ${why}`,
    { cause: refusals[0]?.error },
  );
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
