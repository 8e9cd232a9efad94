import { API_GROUP_VERSION, type Placement, type TrainingJob } from '@coxswain/api-types';
import { SYSTEM_NAMESPACE, waitFor } from '@coxswain/local-cluster';
import { KUEUE_API, PLACEMENT_CHECK_CONTROLLER } from '@coxswain/scheduling';
import { KUEUE_RULES } from '../permissions.ts';
import { sharedWorld } from '../testing/shared-world.ts';
import type { World } from '../testing/world.ts';
import { grant } from '../testing/grant.ts';
import { kueueDefinitions } from './testing/kueue-definitions.ts';

const KUEUE = `/apis/${KUEUE_API.group}/${KUEUE_API.version}`;
const PLURALS = ['workloads', 'admissionchecks', 'resourceflavors', 'workloadpriorityclasses'];
const CHECK = 'coxswain-placement';
const environment = { COXSWAIN_KUEUE: 'true' };

interface Workload {
  readonly metadata: {
    readonly name: string;
    readonly finalizers?: readonly string[];
    readonly resourceVersion: string;
  };
  readonly spec: { readonly queueName: string; readonly podSets: readonly { name: string; count: number }[] };
  readonly status?: {
    readonly admission?: unknown;
    readonly conditions?: readonly Condition[];
    readonly admissionChecks?: readonly { name: string; state: string; message: string }[];
  };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

let world: World;
let namespace: string;

async function post(path: string, body: object): Promise<void> {
  await world.plane.admin.json({ method: 'POST', path, body });
}

beforeAll(async () => {
  world = await sharedWorld();
  for (const body of await kueueDefinitions(PLURALS))
    await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body);
  const to = { namespace: SYSTEM_NAMESPACE, serviceAccount: 'coxswain-operator' };
  await grant(world.plane.admin, { name: 'kueue-test', rules: KUEUE_RULES, to });
  await Promise.all(PLURALS.map((plural) => waitFor(() => isServed(plural), { what: `kind ${plural} to be served` })));
  const kueue = (kind: string, name: string, spec: object): object => ({
    apiVersion: `${KUEUE_API.group}/${KUEUE_API.version}`,
    kind,
    metadata: { name },
    spec,
  });
  await post(
    `${KUEUE}/admissionchecks`,
    kueue('AdmissionCheck', CHECK, { controllerName: PLACEMENT_CHECK_CONTROLLER }),
  );
  await post(`${KUEUE}/resourceflavors`, kueue('ResourceFlavor', 'pool-b', { nodeLabels: { pool: 'b' } }));
  await world.node('kueue-a', 2, { pool: 'a' });
  await world.node('kueue-b', 2, { pool: 'b' });
});
beforeEach(async () => {
  namespace = await world.namespace();
});
afterEach(() => world.clear());
afterAll(async () => {
  await world.plane.kubectl(['delete', 'clusterrole,clusterrolebinding', 'kueue-test', '--ignore-not-found']);
  await world.stop();
});

async function isServed(plural: string): Promise<boolean> {
  return (await world.plane.admin.send({ method: 'GET', path: `${KUEUE}/${plural}` })).status === 200;
}

/** A job of one pod with two GPUs that names a queue. */
async function queuedJob(): Promise<TrainingJob> {
  const path = `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/trainingjobs?fieldValidation=Strict`;
  return world.plane.admin.json<TrainingJob>({
    method: 'POST',
    path,
    body: {
      apiVersion: API_GROUP_VERSION,
      kind: 'TrainingJob',
      metadata: { name: 'queued', namespace, labels: { 'kueue.x-k8s.io/queue-name': 'research' } },
      spec: {
        engine: { name: 'command', image: 'example/image', command: ['sleep', '1'] },
        layout: { tensorParallelDegree: 2 },
        resources: { gpusPerNode: 2 },
        restartPolicy: { maxRestarts: 1, delaySeconds: 0 },
        terminationGracePeriodSeconds: 2,
      },
    },
  });
}

/** The job's Workload; undefined: there is none. */
async function workload(): Promise<Workload | undefined> {
  const path = `${KUEUE}/namespaces/${namespace}/workloads`;
  const { items } = await world.plane.admin.json<{ items: Workload[] }>({ method: 'GET', path });
  return items[0];
}

function workloadUntil(what: string, isSo: (found: Workload) => boolean): Promise<Workload> {
  return waitFor(
    async () => {
      const found = await workload();
      return found !== undefined && isSo(found) ? found : undefined;
    },
    { what: `the Workload to be ${what}` },
  );
}

function condition(found: Workload, type: string): string | undefined {
  return found.status?.conditions?.find((one) => one.type === type)?.status;
}

/** What Kueue writes to the status: these conditions, and other fields. */
async function kueueWrites(conditions: Readonly<Record<string, string>>, fields: object = {}): Promise<void> {
  const found = await workloadUntil('there', () => true);
  const changed = Object.entries(conditions).map(([type, reason]) => ({
    type,
    status: reason === 'False' ? 'False' : 'True',
    reason,
    message: `${type} as Kueue says it`,
    lastTransitionTime: `${new Date().toISOString().slice(0, 19)}Z`,
  }));
  const others = (found.status?.conditions ?? []).filter(({ type }) => !(type in conditions));
  await world.plane.admin.json({
    method: 'PATCH',
    path: `${KUEUE}/namespaces/${namespace}/workloads/${found.metadata.name}/status`,
    body: { status: { conditions: [...others, ...changed], ...fields } },
    contentType: 'application/merge-patch+json',
  });
}

async function reserve(): Promise<void> {
  const assignment = {
    name: 'ranks',
    count: 1,
    flavors: { 'nvidia.com/gpu': 'pool-b' },
    resourceUsage: { 'nvidia.com/gpu': '2' },
  };
  const pending = { name: CHECK, state: 'Pending', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
  await kueueWrites(
    { QuotaReserved: 'QuotaReserved', Evicted: 'False' },
    { admission: { clusterQueue: 'all', podSetAssignments: [assignment] }, admissionChecks: [pending] },
  );
}

async function admit(job: TrainingJob): Promise<TrainingJob> {
  await reserve();
  await workloadUntil('Ready by our check', ({ status }) => status?.admissionChecks?.[0]?.state === 'Ready');
  expect((await world.readJob(namespace, 'queued')).status?.attempts?.at(-1)?.stage).not.toBe('Released');
  await kueueWrites({ Admitted: 'Admitted' });
  return world.until(job, 'running', ({ status }) => status?.state === 'Running');
}

const placedReason = ({ status }: TrainingJob): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'Placed')?.reason;

describe('on a real API server with the definitions of Kueue, where the test writes what Kueue’s controller would', () => {
  it('a job waits for its quota, runs inside the flavour, stops when evicted, releases when its pods are gone, and returns', async () => {
    await world.operator({ environment });
    const job = await queuedJob();
    const created = await workloadUntil('there', () => true);
    expect(created.spec).toMatchObject({ queueName: 'research', podSets: [{ name: 'ranks', count: 1 }] });
    await world.until(job, 'waiting for quota', (one) => placedReason(one) === 'WaitingForQuota');
    expect(await world.pods(namespace)).toEqual([]);
    const check = await world.plane.admin.json<Workload>({ method: 'GET', path: `${KUEUE}/admissionchecks/${CHECK}` });
    expect(condition(check, 'Active')).toBe('True');

    const running = await admit(job);
    await workloadUntil('told that every rank has started', (found) => condition(found, 'PodsReady') === 'True');
    const placements = `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/placements`;
    const { items } = await world.plane.admin.json<{ items: Placement[] }>({ method: 'GET', path: placements });
    expect(items.map(({ spec }) => spec.nodes)).toEqual([['kueue-b']]);

    await kueueWrites({ Evicted: 'Preempted', Preempted: 'InClusterQueue' });
    const released = await workloadUntil('released', (found) => condition(found, 'QuotaReserved') === 'False');
    // The one write gave all back, and came after the last pod.
    expect(released.status?.admission).toBeUndefined();
    expect(['Admitted', 'PodsReady', 'Requeued'].map((type) => condition(released, type))).toEqual([
      'False',
      'False',
      'True',
    ]);
    expect(await world.pods(namespace)).toEqual([]);
    const stopped = await world.readJob(namespace, 'queued');
    expect(stopped.status).toMatchObject({
      restarts: { total: 0, charged: 0 },
      attempts: [{ epoch: 1, stage: 'Ended', outcome: 'Moved', reason: 'QuotaEvicted' }],
    });

    expect((await admit(running)).status?.attempts).toHaveLength(2);
    await world.plane.kubectl(['-n', namespace, 'delete', 'tjob', 'queued', '--wait=false']);
    await waitFor(async () => (await workload()) === undefined, { what: 'the Workload of the deleted job to be gone' });
    expect(await world.pods(namespace)).toEqual([]);
  });
});
