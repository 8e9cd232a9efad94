import { FINALIZER, POD_FINALIZER } from '@coxswain/api-types';
import { isInvalid, isNotFound, type KubeClient, type KubeList, type KubeObject } from '@coxswain/kube';
import { podsPath, trainingJobsPath } from '../cluster/paths.ts';
import { withoutFinalizer } from '../cluster/without-finalizer.ts';

/** What letting go is done with. */
export interface LetGoParts {
  readonly client: Pick<KubeClient, 'list' | 'patch'>;
  /** Waits before the next look; rejects to give up. */
  readonly pause: () => Promise<void>;
}

/** How many objects were let go of. */
export interface LetGo {
  readonly pods: number;
  readonly jobs: number;
}

/**
 * Takes our finalizers from every pod and every job of the cluster: for an uninstall, after which nobody else would. Nothing is deleted, and what runs
 * goes on. An operator that ends at this moment may have made something a moment ago, so it is done when two looks in a row find nothing held.
 */
export async function letGo({ client, pause }: LetGoParts): Promise<LetGo> {
  const done = { pods: 0, jobs: 0 };
  for (let quiet = 0; quiet < QUIET_LOOKS;) {
    const pods = await letGoOf(client, { path: podsPath(), pathOf: podsPath, finalizer: POD_FINALIZER });
    const jobs = await letGoOf(client, { path: trainingJobsPath(), pathOf: trainingJobsPath, finalizer: FINALIZER });
    done.pods += pods;
    done.jobs += jobs;
    quiet = pods + jobs === 0 ? quiet + 1 : 0;
    if (quiet < QUIET_LOOKS) await pause();
  }
  return done;
}

const QUIET_LOOKS = 2;
/** A whole pod is 25 kB. */
const OBJECTS_PER_PAGE = 500;
const CALLS_AT_ONCE = 16;

/** One look at every object there; answers with how many were held. Labels say nothing here: anybody may have taken them away. */
async function letGoOf(
  client: LetGoParts['client'],
  what: {
    readonly path: string;
    readonly pathOf: (place: { readonly namespace?: string | undefined; readonly name: string }) => string;
    readonly finalizer: string;
  },
): Promise<number> {
  let held = 0;
  for (let next: string | undefined = ''; next !== undefined;) {
    const page: KubeList<KubeObject> = await client.list<KubeObject>(what.path, {
      limit: OBJECTS_PER_PAGE,
      ...(next === '' ? {} : { continue: next }),
    });
    const ours = page.items.filter(({ metadata }) => metadata.finalizers?.includes(what.finalizer) === true);
    held += ours.length;
    for (let start = 0; start < ours.length; start += CALLS_AT_ONCE) {
      const some = ours.slice(start, start + CALLS_AT_ONCE);
      await Promise.all(
        some.map((one) => take(client, what.pathOf(one.metadata), withoutFinalizer(one, what.finalizer))),
      );
    }
    next = page.metadata.continue === '' ? undefined : page.metadata.continue;
  }
  return held;
}

async function take(client: LetGoParts['client'], path: string, patch: unknown): Promise<void> {
  try {
    await client.patch(path, patch, { type: 'json' });
  } catch (error) {
    // Gone meanwhile, or changed: the next look sees what it is now.
    if (!isNotFound(error) && !isInvalid(error)) throw error;
  }
}
