import { SYSTEM_NAMESPACE } from '@coxswain/local-cluster';
import type { RealCluster } from './cluster.ts';
import type { DatabaseChoice } from './database.ts';
import { type Gang } from './gang.ts';
import type { Installation } from './installation.ts';
import { NAMESPACE } from './job-objects.ts';
import type { JobSteps } from './job-steps.ts';
import type { CampaignPlan } from './plan.ts';
import { must, type Steps } from './steps.ts';

interface InstallationContext {
  readonly installation: Installation;
  readonly steps: Steps;
  readonly plan: CampaignPlan;
  readonly database: DatabaseChoice;
  readonly during: JobSteps;
  readonly cluster: RealCluster;
}

/** Install, upgrade, uninstall; a job trains from the first to the last. */
export async function installationSteps(context: InstallationContext): Promise<void> {
  const { installation, steps, plan, database, during, cluster } = context;
  const isInstalled = await steps.run('helm install of the earlier revision in a restricted namespace', async () => {
    await installation.install(plan.earlierChart, database);
    return `${database.what}: ${(await installation.programs()).join(', ')}`;
  });
  if (!isInstalled) return;
  const answers = await steps.run('REST answers its administrator, and the page is served', async () => {
    const { apiVersions, page } = await during.askApi();
    return `${apiVersions}; ${page}`;
  });
  if (!answers || !(await during.run())) return;
  await steps.run('helm upgrade to this revision leaves the job alone', async () => {
    const gang = await during.running();
    const before = await gang.uids();
    await installation.upgrade(plan.chart, plan.otherTag);
    await installation.leads();
    await during.makesProgress(gang);
    must(String(await gang.uids()) === String(before), 'pods of the job were replaced by the upgrade');
    const programs = await installation.programs();
    return `${before.length} pods with the same UIDs; ${programs.filter((line) => line.endsWith(plan.otherTag)).length} new pods of ours`;
  });
  await steps.run('a drain is answered: the gang saves and leaves, and it is complete when the pod is gone', () =>
    during.answerDrain(),
  );
  await steps.run(
    'a job makes room for one of higher priority with a save, and goes on from it afterwards',
    async () => {
      await installation.protectNoJob();
      return during.makeRoom();
    },
  );
  await steps.run('helm uninstall is refused while a job runs', async () => installation.refusedUninstall());
  await steps.run('helm uninstall, allowed, leaves definitions, claims and pods that run', async () => {
    const gang = await during.running();
    const before = await gang.uids();
    await installation.uninstall();
    must(String(await gang.uids()) === String(before), 'pods of the job went with the uninstall');
    return describeLeft(cluster, gang);
  });
}

async function describeLeft({ plane }: RealCluster, gang: Gang): Promise<string> {
  const lines = async (...args: readonly string[]): Promise<number> =>
    (await plane.kubectl([...args, '-o', 'name'])).split('\n').filter((line) => line !== '').length;
  const definitions = (await plane.kubectl(['get', 'crds', '-o', 'name'])).split('\n');
  const ours = definitions.filter((name) => name.endsWith('.training.coxswain.dev')).length;
  must(ours > 0, 'no resource definition of ours is left');
  const claims = await lines('-n', NAMESPACE, 'get', 'pvc');
  must(claims >= 2, 'claims of the job are gone');
  const programs = await lines('-n', SYSTEM_NAMESPACE, 'get', 'deployments');
  must(programs === 0, `${programs} deployments of ours are left`);
  return `${ours} definitions, ${claims} claims, ${(await gang.uids()).length} pods; none of our deployments`;
}
