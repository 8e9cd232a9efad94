import { API_GROUP_VERSION, FINALIZER, POD_FINALIZER, type TrainingJob } from '@coxswain/api-types';
import { findBinary, startProcess, SYSTEM_NAMESPACE, waitFor } from '@coxswain/local-cluster';
import type { KubeObject } from '@coxswain/kube';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { startWorld, type World } from './testing/world.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const CHART = join(ROOT, 'charts/coxswain');
const ROLES = join(ROOT, 'dev/local-cluster/src/system/chart-roles.generated.yaml');

let world: World;
beforeAll(async () => {
  world = await startWorld();
  await Promise.all(['node-a', 'node-b'].map((name) => world.node(name, 2)));
  // What the world installed without helm is helm's to install here.
  await world.plane.kubectl(['delete', '-f', ROLES, '--wait=true']);
  const values = ['operator.replicas=1', 'api.replicas=1', 'database.source=external'];
  const install = helm('install', 'coxswain', CHART, ...values.flatMap((value) => ['--set', value]));
  await Promise.all([install, runHook('definitions')]);
});
afterAll(() => world.stop());

async function helm(...args: readonly string[]): Promise<string> {
  const kubeconfig = [
    '--kubeconfig',
    await world.plane.kubeconfigForUser({ user: 'helm', groups: ['system:masters'] }),
  ];
  const { stdout } = await promisify(execFile)(await findBinary('helm'), [
    ...args,
    '-n',
    SYSTEM_NAMESPACE,
    ...kubeconfig,
  ]);
  return stdout;
}

const list = async <T extends KubeObject>(path: string): Promise<readonly T[]> =>
  (await world.plane.admin.json<{ items: T[] }>({ method: 'GET', path })).items;
const held = async (): Promise<readonly string[]> => {
  const all = [...(await list('/api/v1/pods')), ...(await list(`/apis/${API_GROUP_VERSION}/trainingjobs`))];
  return all
    .filter(({ metadata: { finalizers = [] } }) => finalizers.includes(POD_FINALIZER) || finalizers.includes(FINALIZER))
    .map(({ metadata }) => metadata.name);
};

/** Plays the node of a hook's pod: runs its very program with the rights of its account, and reports how it ended. Answers with what it said. */
async function runHook(component: string): Promise<string> {
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods`;
  const pod = await waitFor(
    async () =>
      (await list<HookPod>(path)).find(
        ({ metadata, status }) =>
          metadata.labels?.['app.kubernetes.io/component'] === component && status.phase === 'Pending',
      ),
    { what: `the pod of the hook ${component}` },
  );
  const [container] = pod.spec.containers;
  const mounted: Record<string, string> =
    component === 'definitions' ? { '/etc/coxswain/files': await definitionsFolder() } : {};
  const account = {
    namespace: SYSTEM_NAMESPACE,
    serviceAccount: pod.spec.serviceAccountName,
    apiserverUrl: world.plane.url,
  };
  const program = await startProcess({
    name: component,
    command: process.execPath,
    args: [join(import.meta.dirname, 'main.ts'), ...(container?.args ?? []).map((arg) => mounted[arg] ?? arg)],
    env: { PATH: process.env['PATH'], COXSWAIN_KUBECONFIG: await world.plane.kubeconfigFor(account) },
    logPath: join(world.plane.logsDirectory, `${component}.log`),
  });
  const { code } = await program.exited;
  const terminated = { exitCode: code, reason: code === 0 ? 'Completed' : 'Error' };
  const status = {
    phase: code === 0 ? 'Succeeded' : 'Failed',
    containerStatuses: [
      { name: component, image: 'i', imageID: '', ready: false, restartCount: 0, state: { terminated } },
    ],
  };
  const contentType = 'application/merge-patch+json';
  await world.plane.admin.json({
    method: 'PATCH',
    path: `${path}/${pod.metadata.name}/status`,
    body: { status },
    contentType,
  });
  return readFileSync(program.logPath ?? '', 'utf8');
}

/** The ConfigMap of definitions as a folder. */
async function definitionsFolder(): Promise<string> {
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps/coxswain-definitions`;
  const { data } = await world.plane.admin.json<{ data: Record<string, string> }>({ method: 'GET', path });
  const folder = mkdtempSync(join(world.plane.directory, 'definitions-'));
  for (const [name, text] of Object.entries(data)) writeFileSync(join(folder, name), text);
  return folder;
}

interface HookPod extends KubeObject {
  readonly status: { readonly phase: string };
  readonly spec: {
    readonly serviceAccountName: string;
    readonly containers: readonly { readonly args?: readonly string[] }[];
  };
}

describe('helm upgrade', () => {
  it('touches no pod of a job that runs, nor does an operator with another launcher', async () => {
    const operator = await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'running');
    await world.until(job, 'running', ({ status }: TrainingJob) => status?.state === 'Running');
    const before = await world.pods(namespace);
    const values = [
      'operator.replicas=1',
      'api.replicas=1',
      'database.source=external',
      'operator.launcherImage.tag=next',
    ];
    await Promise.all([
      helm('upgrade', 'coxswain', CHART, ...values.flatMap((value) => ['--set', value])),
      runHook('definitions'),
    ]);
    await operator.stop();
    const environment = { COXSWAIN_LAUNCHER_IMAGE: 'coxswain/launcher:next' };
    const next = await world.operator({ identity: 'next', environment });
    // Whatever it would do to this gang it would have done by the time that it has begun another.
    const other = await world.job(await world.namespace(), 'other');
    await world.until(other, 'looked at', ({ status }: TrainingJob) => status?.observedGeneration === 1);
    const idOf = ({ metadata }: { readonly metadata: { readonly uid?: string } }): string | undefined => metadata.uid;
    const after = await world.pods(namespace);
    expect(after.map(idOf)).toEqual(before.map(idOf));
    expect(JSON.stringify(after)).not.toContain('launcher:next');
    await world.plane.kubectl(['delete', 'trainingjobs', '-A', '--all', '--wait=true', '--timeout=60s']);
    await next.stop();
  });
});

describe('helm uninstall', () => {
  it('leaves nothing held: neither pods of a gang under way, nor one without its labels, nor jobs; and nothing of its hook', async () => {
    const operator = await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'left');
    await world.until(job, 'running', ({ status }: TrainingJob) => status?.state === 'Running');
    const [bare] = await world.pods(namespace);
    await world.plane.kubectl([
      'label',
      'pod',
      '-n',
      namespace,
      bare?.metadata.name ?? '',
      'training.coxswain.dev/job-uid-',
    ]);
    expect((await held()).length).toBe(3);
    await operator.stop();

    const [refused, why] = await Promise.all([
      helm('uninstall', 'coxswain', '--timeout', '90s').catch(String),
      runHook('running-jobs'),
    ]);
    expect(refused).toMatch(/Error: .*coxswain-running-jobs/);
    expect(why).toMatch(
      /1 job runs: \S+\/left\. Nothing was uninstalled\. Suspend or delete them first.*create configmap coxswain-uninstall-with-running-jobs/,
    );
    expect(await world.plane.kubectl(['-n', SYSTEM_NAMESPACE, 'get', 'deployments', '-o', 'name'])).toContain(
      'coxswain-operator',
    );
    await world.plane.kubectl(['-n', SYSTEM_NAMESPACE, 'create', 'configmap', 'coxswain-uninstall-with-running-jobs']);

    const [printed] = await Promise.all([
      helm('uninstall', 'coxswain', '--timeout', '90s'),
      runHook('running-jobs').then(() => runHook('let-go')),
    ]);
    expect(printed).toContain('uninstalled');
    expect(await held()).toEqual([]);
    // What runs goes on.
    expect((await world.pods(namespace)).map(({ status }) => status.phase)).toEqual(['Running', 'Running']);
    const left = await world.plane.kubectl(['get', 'clusterroles,clusterrolebindings', '-o', 'name']);
    expect(left).not.toContain('coxswain');

    // And nothing waits for anybody any more; the stand-in kubelet knows pods by their label alone.
    await world.plane.kubectl(['delete', 'pods', '-n', namespace, '--all', '--force', '--grace-period=0']);
    await world.plane.kubectl(['delete', 'namespace', namespace, '--wait=true', '--timeout=60s']);
  });
});
