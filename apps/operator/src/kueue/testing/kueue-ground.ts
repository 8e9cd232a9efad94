/** Two tenants with quota of the real Kueue, made-up nodes, and an auditor that looks at pods and Workloads all the time. */
import { API_GROUP_VERSION, LABELS, NODE_LABELS, type Placement, type TrainingJob } from '@coxswain/api-types';
import { checkpointName } from '@coxswain/checkpoint';
import { SYSTEM_NAMESPACE, waitFor } from '@coxswain/local-cluster';
import {
  jobUidOf,
  KUEUE_API,
  PLACEMENT_CHECK_CONTROLLER,
  pickWorkloads,
  readWorkload,
  type WorkloadFacts,
} from '@coxswain/scheduling';
import { KUEUE_MANAGER_RULES, KUEUE_RULES } from '../../permissions.ts';
import type { RawPod } from '../../testing/raw-pod.ts';
import type { World } from '../../testing/world.ts';
import { grant } from '../../testing/grant.ts';
import { QuotaAuditor } from './quota-auditor.ts';
import { installKueue, MANAGER, type RealKueue } from './real-kueue.ts';

export const KUEUE = `/apis/${KUEUE_API.group}/${KUEUE_API.version}`;
/** The operator's AdmissionCheck, and one that the campaign answers itself. */
export const CHECK = 'coxswain-placement';
export const OTHER_CHECK = 'other';
/** Nodes of the flavour. Two GPUs each, and so has each pod of a job here. */
const NODES = ['a-0', 'a-1', 'a-2', 'a-3'];
/** GPUs that each tenant may always use; the cohort has all eight of the nodes. */
const NOMINAL = 4;
const MERGE = 'application/merge-patch+json';

/** A namespace with a LocalQueue `research`. */
export interface Tenant {
  readonly namespace: string;
  readonly clusterQueue: string;
  /** Of its ClusterQueue. */
  readonly cohort: string;
}

/** How a job differs from the usual one of one pod. */
export interface JobOptions {
  readonly pods?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Whether it names no queue. */
  readonly isUnqueued?: boolean;
  /** The fewest pods on which it goes on; the planner chooses its layouts. Absent: it needs all of them. */
  readonly fewestPods?: number;
}

/** A model that the planner knows. */
const TRAINED = {
  model: { layers: 4, hiddenSize: 64, attentionHeads: 4, sequenceLength: 64 },
  training: { steps: 100_000, globalBatchSize: 8 },
  checkpoint: { claimName: 'checkpoints', everySteps: 10 },
};

interface KueueObject {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message: string }[];
  };
}

/** What the rows act on. */
export class KueueGround {
  readonly world: World;
  readonly kueue: RealKueue;
  readonly auditor: QuotaAuditor;
  #queues = 0;

  private constructor(world: World, kueue: RealKueue) {
    this.world = world;
    this.kueue = kueue;
    this.auditor = new QuotaAuditor(world, KUEUE);
  }

  /** Kueue, nodes, a flavour and the two AdmissionChecks. */
  static async prepare(world: World): Promise<KueueGround> {
    const ground = new KueueGround(world, await installKueue(world.plane));
    for (const name of NODES) await world.node(name, 2, { pool: 'a', [NODE_LABELS.gpuType]: 'simulated' });
    await world.node('b-0', 2, { pool: 'b' });
    await ground.#grant();
    await ground.settings();
    ground.auditor.start();
    return ground;
  }

  /** What an administrator writes once after the installation of Kueue. */
  async settings(): Promise<void> {
    await this.create('admissionchecks', 'AdmissionCheck', CHECK, { controllerName: PLACEMENT_CHECK_CONTROLLER });
    await this.create('admissionchecks', 'AdmissionCheck', OTHER_CHECK, { controllerName: 'example.com/other' });
    await this.patch(`admissionchecks/${OTHER_CHECK}/status`, {
      status: { conditions: [{ ...conditionNow('Active'), reason: 'Active' }] },
    });
    await this.create('resourceflavors', 'ResourceFlavor', 'pool-a', { nodeLabels: { pool: 'a' } });
  }

  /** Two tenants that lend each other what they do not use, and take it back. */
  async tenants(checks: readonly string[] = [CHECK]): Promise<readonly [Tenant, Tenant]> {
    this.#queues += 1;
    const cohort = `cohort-${this.#queues}`;
    const tenant = async (name: string): Promise<Tenant> => {
      const clusterQueue = `${name}-${this.#queues}`;
      await this.create('clusterqueues', 'ClusterQueue', clusterQueue, {
        namespaceSelector: {},
        cohortName: cohort,
        preemption: { reclaimWithinCohort: 'Any', withinClusterQueue: 'LowerPriority' },
        admissionChecksStrategy: { admissionChecks: checks.map((check) => ({ name: check })) },
        ...quotaOf(NOMINAL),
      });
      const namespace = await this.world.namespace();
      await this.world.claim(namespace, 'checkpoints');
      await this.localQueue(namespace, 'research', clusterQueue);
      return { namespace, clusterQueue, cohort };
    };
    return [await tenant('first'), await tenant('second')];
  }

  async localQueue(namespace: string, name: string, clusterQueue: string): Promise<void> {
    await this.world.plane.admin.json({
      method: 'POST',
      path: `${KUEUE}/namespaces/${namespace}/localqueues`,
      body: { apiVersion: KUEUE.slice(6), kind: 'LocalQueue', metadata: { name }, spec: { clusterQueue } },
    });
  }

  /** The tenant's cohort is in another one, which has quota of its own. */
  async parentWith({ cohort }: Tenant, gpus: number): Promise<void> {
    await this.create('cohorts', 'Cohort', `above-${cohort}`, quotaOf(gpus));
    await this.create('cohorts', 'Cohort', cohort, { parentName: `above-${cohort}` });
  }

  setQuota({ clusterQueue }: Tenant, gpus: number): Promise<void> {
    return this.patch(`clusterqueues/${clusterQueue}`, { spec: quotaOf(gpus) });
  }

  async job({ namespace }: Pick<Tenant, 'namespace'>, name: string, options: JobOptions = {}): Promise<TrainingJob> {
    const { pods = 1, labels = {}, isUnqueued = false, fewestPods } = options;
    return this.world.plane.admin.json<TrainingJob>({
      method: 'POST',
      path: `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/trainingjobs?fieldValidation=Strict`,
      body: {
        apiVersion: API_GROUP_VERSION,
        kind: 'TrainingJob',
        metadata: {
          name,
          namespace,
          labels: { ...(isUnqueued ? {} : { 'kueue.x-k8s.io/queue-name': 'research' }), ...labels },
        },
        spec: {
          engine: { name: 'command', image: 'example/image', command: ['sleep', '1'] },
          ...(fewestPods === undefined
            ? { layout: { tensorParallelDegree: 2, dataParallelDegree: pods } }
            : { ...TRAINED, gpus: 2 * pods, minGpus: 2 * fewestPods }),
          resources: { gpusPerNode: 2 },
          restartPolicy: { maxRestarts: 1, delaySeconds: 0 },
          terminationGracePeriodSeconds: 2,
        },
      },
    });
  }

  read({ metadata }: TrainingJob): Promise<TrainingJob> {
    return this.world.readJob(metadata.namespace ?? '', metadata.name);
  }

  runs(job: TrainingJob): Promise<TrainingJob> {
    return this.world.until(job, 'running', ({ status }) => status?.state === 'Running');
  }

  waits(job: TrainingJob, message: RegExp): Promise<TrainingJob> {
    return this.world.until(
      job,
      `waiting with ${String(message)}`,
      ({ status }) => placedReason(status) === 'WaitingForQuota' && message.test(status?.summary ?? ''),
    );
  }

  /** An attempt ended with that reason, without a charge. */
  ended(job: TrainingJob, reason: string): Promise<TrainingJob> {
    return this.world.until(job, `stopped for ${reason}`, ({ status }) => {
      const hasEnded = status?.attempts?.some(({ stage, reason: why }) => stage === 'Ended' && why === reason);
      return hasEnded === true && (status?.restarts?.charged ?? 0) === 0;
    });
  }

  /** Deletes every job, and waits until Workloads are gone; an operator that follows Kueue has to run. */
  async clear(): Promise<void> {
    await this.world.plane.kubectl(['delete', 'tjob', '--all', '--all-namespaces', '--wait=false']);
    await waitFor(
      async () => {
        const { status, body } = await this.world.plane.admin.send({ method: 'GET', path: `${KUEUE}/workloads` });
        return status !== 200 || (JSON.parse(body) as { items: unknown[] }).items.length === 0;
      },
      { what: 'all Workloads to be gone' },
    );
  }

  async delete({ metadata }: TrainingJob): Promise<void> {
    const { namespace = '', name } = metadata;
    await this.world.plane.kubectl(['-n', namespace, 'delete', 'tjob', name, '--wait=false']);
  }

  pods(job: TrainingJob): Promise<readonly RawPod[]> {
    const ofJob = ({ metadata }: RawPod): boolean => metadata.labels?.[LABELS.jobUid] === job.metadata.uid;
    return this.world.pods(job.metadata.namespace ?? '').then((pods) => pods.filter(ofJob));
  }

  /** Nodes of its last attempt. */
  async nodesOf(job: TrainingJob): Promise<readonly string[]> {
    const path = `/apis/${API_GROUP_VERSION}/namespaces/${job.metadata.namespace ?? ''}/placements`;
    const { items } = await this.world.plane.admin.json<{ items: Placement[] }>({ method: 'GET', path });
    const own = items.filter(({ metadata }) => metadata.ownerReferences?.[0]?.uid === job.metadata.uid);
    return own.at(-1)?.spec.nodes ?? [];
  }

  /** The job's Workload, the one that counts of two; undefined: there is none. */
  async workload(job: TrainingJob): Promise<WorkloadFacts | undefined> {
    return pickWorkloads(await this.workloads(job)).current;
  }

  /** All of the job: two while it grows. */
  async workloads(job: TrainingJob): Promise<readonly WorkloadFacts[]> {
    const path = `${KUEUE}/namespaces/${job.metadata.namespace ?? ''}/workloads`;
    const { items } = await this.world.plane.admin.json<{ items: unknown[] }>({ method: 'GET', path });
    return items.filter((one) => jobUidOf(one) === job.metadata.uid).map(readWorkload);
  }

  workloadUntil(job: TrainingJob, what: string, isSo: (found: WorkloadFacts) => boolean): Promise<WorkloadFacts> {
    return waitFor(
      async () => {
        const found = await this.workload(job);
        return found !== undefined && isSo(found) ? found : undefined;
      },
      { what: `the Workload of ${job.metadata.name} to be ${what}` },
    );
  }

  /** Changes the Workload of a job as an administrator would. */
  async editWorkload(job: TrainingJob, body: object): Promise<number> {
    const { status } = await this.world.plane.admin.send({
      method: 'PATCH',
      path: await this.#workloadPath(job),
      body,
      contentType: MERGE,
    });
    return status;
  }

  async editWorkloadStatus(job: TrainingJob, status: object): Promise<void> {
    const path = `${await this.#workloadPath(job)}/status`;
    await this.world.plane.admin.json({ method: 'PATCH', path, body: { status }, contentType: MERGE });
  }

  async deleteWorkload(job: TrainingJob): Promise<void> {
    await this.world.plane.admin.json({ method: 'DELETE', path: await this.#workloadPath(job) });
  }

  /** The gang has saved that step, as its launcher reports. */
  async saved(job: TrainingJob, step: number): Promise<void> {
    const { metadata, status } = await this.read(job);
    const attempt = status?.attempts?.at(-1);
    const epoch = attempt?.epoch ?? 1;
    const { namespace = '', name: jobName, uid } = metadata;
    const name = checkpointName({ name: jobName, uid }, { epoch, step });
    const owner = { apiVersion: API_GROUP_VERSION, kind: 'TrainingJob', name: jobName, uid };
    const { admin } = this.world.plane;
    const path = `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/checkpoints`;
    await admin.json({
      method: 'POST',
      path,
      body: {
        apiVersion: API_GROUP_VERSION,
        kind: 'Checkpoint',
        metadata: { name, namespace, labels: { [LABELS.jobUid]: uid }, ownerReferences: [owner] },
        spec: {
          jobName,
          jobUid: uid,
          epoch,
          step,
          claimName: 'checkpoints',
          path: `${jobName}/epoch-${epoch}/step-${step}`,
          layout: attempt?.layout,
          format: 'torch_dcp',
          bytes: 1_000,
          files: 4,
          manifestSha256: 'a'.repeat(64),
        },
      },
    });
    const body = { status: { state: 'Complete' } };
    await admin.json({ method: 'PATCH', path: `${path}/${name}/status`, body, contentType: MERGE });
  }

  get(path: string): Promise<KueueObject> {
    return this.world.plane.admin.json<KueueObject>({ method: 'GET', path: `${KUEUE}/${path}` });
  }

  async create(plural: string, kind: string, name: string, spec: object): Promise<void> {
    await this.world.plane.admin.json({
      method: 'POST',
      path: `${KUEUE}/${plural}`,
      body: { apiVersion: KUEUE.slice(6), kind, metadata: { name }, spec },
    });
  }

  async patch(path: string, body: object): Promise<void> {
    await this.world.plane.admin.json({ method: 'PATCH', path: `${KUEUE}/${path}`, body, contentType: MERGE });
  }

  async #workloadPath(job: TrainingJob): Promise<string> {
    const { name } = await this.workloadUntil(job, 'there', () => true);
    return `${KUEUE}/namespaces/${job.metadata.namespace ?? ''}/workloads/${name}`;
  }

  /** What the chart grants with queue.kueue.enabled. */
  async #grant(): Promise<void> {
    const { admin } = this.world.plane;
    const operator = { namespace: SYSTEM_NAMESPACE, serviceAccount: 'coxswain-operator' };
    await grant(admin, { name: 'kueue-test', rules: KUEUE_RULES, to: operator });
    await grant(admin, { name: 'coxswain-kueue-manager', rules: KUEUE_MANAGER_RULES, to: MANAGER });
  }
}

/** Whether a condition of a Workload is True. */
export function is(found: WorkloadFacts | undefined, type: string): boolean {
  return found?.conditions.get(type)?.isTrue === true;
}

/** A condition that is True since now. */
export function conditionNow(
  type: string,
): { readonly type: string; readonly status: 'True'; message: string } & object {
  const lastTransitionTime = `${new Date().toISOString().slice(0, 19)}Z`;
  return { type, status: 'True', message: 'by hand', ...{ lastTransitionTime } };
}

function placedReason(status: TrainingJob['status']): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Placed')?.reason;
}

function quotaOf(gpus: number): object {
  const resources = [{ name: 'nvidia.com/gpu', nominalQuota: gpus }];
  return { resourceGroups: [{ coveredResources: ['nvidia.com/gpu'], flavors: [{ name: 'pool-a', resources }] }] };
}
