import type { JobState, TrainingJob } from '@coxswain/api-types';
import { isKindUnknown, isNotFound, resourcePath, type KubeClient, type KubeList } from '@coxswain/kube';
import { trainingJobsPath } from '../cluster/paths.ts';

/** ConfigMap of the release's namespace that lets an uninstall leave running jobs without an operator; what it holds does not matter. */
export const PERMIT_CONFIG_MAP = 'coxswain-uninstall-with-running-jobs';

/** Rejects with a message while jobs run, unless the ConfigMap exists. Resolves with a summary. */
export async function refuseRunningJobs(parts: {
  readonly client: Pick<KubeClient, 'get' | 'list'>;
  readonly namespace: string;
}): Promise<string> {
  const { client, namespace } = parts;
  const running = await runningJobs(client);
  if (running.length === 0) return 'no job runs';
  const listed = running.slice(0, JOBS_LISTED).join(', ');
  const found = `${running.length} ${running.length === 1 ? 'job runs' : 'jobs run'}: ${listed}${running.length > JOBS_LISTED ? ', …' : ''}`;
  if (await isThere(client, namespace))
    return `${found}. The ConfigMap ${PERMIT_CONFIG_MAP} allows it: their pods continue without an operator, and nothing restarts them`;
  throw new Error(
    `${found}. Nothing was uninstalled. Suspend or delete them first, so that they save (coxswain suspend, kubectl delete trainingjobs -A --all). ` +
      `To leave their pods running without restarts: kubectl -n ${namespace} create configmap ${PERMIT_CONFIG_MAP}, and uninstall again`,
  );
}

const JOBS_LISTED = 5;
/** A waiting job has nothing that needs an operator. */
const WITH_PODS: ReadonlySet<JobState> = new Set(['Starting', 'Running', 'Restarting', 'Suspending', 'Stopping']);
const JOBS_PER_PAGE = 100;

async function runningJobs(client: Pick<KubeClient, 'list'>): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for (let next: string | undefined = ''; next !== undefined;) {
      const page: KubeList<TrainingJob> = await client.list<TrainingJob>(trainingJobsPath(), {
        limit: JOBS_PER_PAGE,
        ...(next === '' ? {} : { continue: next }),
      });
      names.push(
        ...page.items
          .filter(({ status }) => status?.state !== undefined && WITH_PODS.has(status.state))
          .map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`),
      );
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
    }
    return names;
  } catch (error) {
    // No definitions, so no jobs.
    if (isKindUnknown(error)) return [];
    throw error;
  }
}

async function isThere(client: Pick<KubeClient, 'get'>, namespace: string): Promise<boolean> {
  try {
    await client.get(
      resourcePath({ group: '', version: 'v1', plural: 'configmaps', namespace, name: PERMIT_CONFIG_MAP }),
    );
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
