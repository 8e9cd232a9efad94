import { ApiClient } from '@coxswain/api-client';
import { findBinary, SYSTEM_NAMESPACE, waitFor } from '@coxswain/local-cluster';
import type { RealCluster } from './cluster.ts';
import { command } from './command.ts';
import type { DatabaseChoice } from './database.ts';
import { NAMESPACE } from './job-objects.ts';

const RELEASE = 'coxswain';
/** Half of the default, so that the campaign waits half as long for it. */
export const NODE_GRACE_SECONDS = 60;
/** Smaller than the defaults: the whole cluster has two cores. */
const VALUES = [
  'image.pullPolicy=Never',
  'operator.replicas=1',
  'api.replicas=1',
  `operator.timeouts.nodeGraceSeconds=${NODE_GRACE_SECONDS}`,
];

/** What an earlier chart may not know. */
const OF_THIS_REVISION = [`operator.answerDrainsIn=${NAMESPACE}`, 'scheduling.makeRoom=true'];

/** Our programs, installed by the chart with our images. */
export class Installation {
  readonly #cluster: RealCluster;
  #database: DatabaseChoice | undefined;

  constructor(cluster: RealCluster) {
    this.#cluster = cluster;
  }

  /** Where a chart brings no database, `database` is another's. */
  async install(chart: string, database: DatabaseChoice): Promise<void> {
    this.#database = database;
    const { plane } = this.#cluster;
    const namespace = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: SYSTEM_NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
    };
    for (const object of [namespace, ...database.objects]) {
      await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
    }
    await this.#helm('install', RELEASE, chart, ...this.#set(chart, []), '--wait', '--timeout', '180s');
  }

  /** With another tag of the same images, so that every pod of ours is replaced. */
  async upgrade(chart: string, tag: string): Promise<void> {
    const tags = ['operator.image', 'operator.launcherImage', 'api.image'].map((image) => `${image}.tag=${tag}`);
    await this.#helm(
      'upgrade',
      RELEASE,
      chart,
      ...this.#set(chart, [...tags, ...OF_THIS_REVISION]),
      '--wait',
      '--timeout',
      '180s',
    );
  }

  /** A job may be asked to make room as soon as it trains; by default it is protected for longer than the campaign takes. */
  async protectNoJob(): Promise<void> {
    const { plane } = this.#cluster;
    const never = ['COXSWAIN_MAKE_ROOM_PROTECTED_MS=1', 'COXSWAIN_MAKE_ROOM_PROTECTED_STARTS=0'];
    const inSystem = ['-n', SYSTEM_NAMESPACE];
    await plane.kubectl([...inSystem, 'set', 'env', 'deployment/coxswain-operator', ...never]);
    await plane.kubectl([...inSystem, 'rollout', 'status', 'deployment/coxswain-operator', '--timeout=180s']);
    await this.leads();
  }

  /** What the chart says to who uninstalls while jobs run. */
  async refusedUninstall(): Promise<string> {
    const refused = await this.#helm('uninstall', RELEASE, '--wait', '--timeout', '120s').then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (refused === undefined) throw new Error('it was uninstalled although a job runs');
    // The hook's own words; its pod stays when it fails.
    const { plane } = this.#cluster;
    const logs = ['logs', '-l', 'app.kubernetes.io/component=running-jobs', '--tail=5'];
    const words = await plane.kubectl(['-n', SYSTEM_NAMESPACE, ...logs]);
    const refusal = /coxswain-operator: (.*Nothing was uninstalled)/.exec(words)?.[1];
    if (refusal === undefined) throw new Error(`it was refused by another reason: ${refused}`);
    return refusal;
  }

  /** With the ConfigMap that allows it. */
  async uninstall(): Promise<void> {
    const { plane } = this.#cluster;
    await plane.kubectl(['-n', SYSTEM_NAMESPACE, 'create', 'configmap', 'coxswain-uninstall-with-running-jobs']);
    await this.#helm('uninstall', RELEASE, '--wait', '--timeout', '300s');
  }

  /** The API as its administrator sees it, through its Service. */
  async api(): Promise<ApiClient> {
    const { plane } = this.#cluster;
    const admin = ['exec', 'deploy/coxswain-api', '--', 'node', 'apps/api/dist/admin.js', 'create', 'campaign'];
    const printed = await plane.kubectl(['-n', SYSTEM_NAMESPACE, ...admin]);
    const token = /\bcxs_\w+/.exec(printed)?.[0];
    if (token === undefined) throw new Error('admin.js printed no token');
    return new ApiClient({ server: await this.url(), token });
  }

  async url(): Promise<string> {
    const { plane } = this.#cluster;
    const address = ['get', 'service', 'coxswain-api', '-o', 'jsonpath={.spec.clusterIP}'];
    return `http://${await plane.kubectl(['-n', SYSTEM_NAMESPACE, ...address])}`;
  }

  /** What runs of ours, as pods' names with their images. */
  async programs(): Promise<readonly string[]> {
    const { plane } = this.#cluster;
    const columns = 'jsonpath={range .items[*]}{.metadata.name} {.spec.containers[0].image}{"\\n"}{end}';
    const listed = await plane.kubectl(['-n', SYSTEM_NAMESPACE, 'get', 'pods', '-o', columns]);
    return listed.split('\n').filter((line) => line !== '');
  }

  /** A new operator leads: until then nothing that is asked of it is done. */
  async leads(): Promise<void> {
    const { plane } = this.#cluster;
    const holder = ['get', 'lease', 'coxswain-operator', '-o', 'jsonpath={.spec.holderIdentity}'];
    await waitFor(
      async () => {
        const identity = await plane.kubectl(['-n', SYSTEM_NAMESPACE, ...holder]);
        // A pod's name and a word of its process.
        return (await this.programs()).some((line) => identity.startsWith(`${line.split(' ')[0]}-`));
      },
      { what: 'an operator to lead that runs', intervalMs: 500 },
    );
  }

  #set(chart: string, more: readonly string[]): readonly string[] {
    return [...VALUES, ...(this.#database?.values(chart) ?? []), ...more].flatMap((value) => ['--set', value]);
  }

  async #helm(...args: readonly string[]): Promise<string> {
    const { adminKubeconfigPath } = this.#cluster.plane;
    return command(await findBinary('helm'), [...args, '-n', SYSTEM_NAMESPACE, '--kubeconfig', adminKubeconfigPath]);
  }
}
