import { setTimeout as delay } from 'node:timers/promises';
import { API_GROUP_VERSION, findCondition, type TrainingJob } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { clearNamespace, inTurns } from '../bare-client.ts';
import { GPUS_PER_NODE, type BenchCluster } from '../bench-cluster.ts';
import type { BenchOperator } from '../bench-operator.ts';
import { longestStretch, type Scenario } from '../scenario.ts';
import { allRun, podsOf, strangersPod } from '../strangers.ts';

const NAMESPACES = 4;
/** Whole nodes of each job that waits. */
const PODS_PER_JOB = 2;
/** A pod that comes and goes is four changes: made, runs, is to go, gone. */
const CHURN_MS = 400;
const ROUNDS = 5;

/** A full cluster and a long queue: what waiting costs while strangers' pods come and go, and how soon freed GPUs are placed again. */
export const waitingJobs: Scenario = {
  name: 'waiting-jobs',
  question:
    '2,000 jobs that wait on 10,240 full nodes with ten pod changes a second: processor time, time to place freed GPUs',
  bars: ['operator, of a core', 'freed GPUs are placed after, at most'],
  run: async ({ cluster, size, progress, clearUp }) => {
    const { nodes, jobs, seconds } =
      size === 'full' ? { nodes: 10_240, jobs: 2_000, seconds: 60 } : { nodes: 200, jobs: 100, seconds: 10 };
    await cluster.haveNodes(nodes);
    const [strangers = '', ...tenants] = await inTurns(Array.from({ length: NAMESPACES + 1 }), () =>
      cluster.namespace(),
    );
    for (const namespace of [...tenants, strangers]) clearUp(() => clearNamespace(cluster, namespace));
    // The last node is the one whose pods come and go.
    const full = cluster.nodeNames.slice(0, -1);
    progress(`fills ${full.length} nodes`);
    await inTurns(full, (node) =>
      cluster.client.create(podsOf(strangers), strangersPod(`on-${node}`, node, GPUS_PER_NODE)),
    );
    await allRun(cluster, { namespace: strangers, pods: full.length, progress });
    const operator = await cluster.operator();
    try {
      operator.stretchesMs();
      progress(`submits ${jobs} jobs`);
      const numbers = Array.from({ length: jobs }, (_, number) => number);
      const submittedMs = performance.now();
      await inTurns(numbers, (number) =>
        cluster.job(tenants[number % NAMESPACES] ?? '', `job-${number}`, PODS_PER_JOB),
      );
      await allWait(cluster, jobs);
      const queuedSeconds = (performance.now() - submittedMs) / 1_000;
      const queuingMs = operator.stretchesMs();
      progress(`pods come and go for ${seconds} s`);
      const before = await podChanges(operator);
      const percent = await percentOfACore(operator, seconds, () => churn(cluster, strangers, seconds));
      const churnMs = operator.stretchesMs();
      const changes = (await podChanges(operator)) - before;
      progress('frees nodes');
      const placedAfter: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        placedAfter.push(
          await untilPlaced(cluster, {
            strangers,
            freed: full.slice(round * PODS_PER_JOB, (round + 1) * PODS_PER_JOB),
          }),
        );
      }
      return [
        { what: `${jobs} jobs submitted and told that they wait`, value: queuedSeconds, unit: 's' },
        { what: 'pod changes that it was told of', value: changes / seconds, unit: '1/s' },
        { what: 'operator, of a core', value: percent, unit: '%', atMost: 5 },
        {
          what: 'freed GPUs are placed after, at most',
          value: Math.max(...placedAfter),
          unit: 's',
          of: placedAfter,
          atMost: 2,
        },
        longestStretch('while jobs are submitted', queuingMs),
        longestStretch('while pods come and go', churnMs),
        longestStretch('while freed GPUs are placed', operator.stretchesMs()),
        { what: 'operator memory, peak', value: operator.usage().peakResidentMiB, unit: 'MiB' },
      ];
    } finally {
      await operator.stop();
    }
  },
};

/** Events of pods that the operator's watch has brought so far. */
async function podChanges(operator: BenchOperator): Promise<number> {
  const ofType = async (type: string): Promise<number> =>
    (await operator.metric(`coxswain_operator_reflector_events_total{collection="/api/v1/pods",type="${type}"}`)) ?? 0;
  const counts = await Promise.all(['ADDED', 'MODIFIED', 'DELETED'].map(ofType));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function allWait(cluster: BenchCluster, jobs: number): Promise<void> {
  const path = `/apis/${API_GROUP_VERSION}/trainingjobs`;
  const look = async (): Promise<boolean> => {
    const { items } = await cluster.client.list<TrainingJob>(path);
    const waits = items.filter(
      ({ status }) => findCondition(status?.conditions, 'Placed')?.reason === 'WaitingForCapacity',
    );
    return waits.length === jobs;
  };
  await waitFor(look, { what: `${jobs} jobs to wait`, deadlineMs: 300_000, intervalMs: 2_000 });
}

async function percentOfACore(operator: BenchOperator, seconds: number, act: () => Promise<void>): Promise<number> {
  const before = operator.usage().cpuMs;
  await act();
  return (operator.usage().cpuMs - before) / seconds / 10;
}

async function churn(cluster: BenchCluster, namespace: string, seconds: number): Promise<void> {
  const node = cluster.nodeNames.at(-1) ?? '';
  for (let turn = 0; turn < (seconds * 1_000) / CHURN_MS; turn += 1) {
    const path = podsOf(namespace);
    await cluster.client.create(path, strangersPod(`churn-${turn}`, node, 1));
    if (turn > 0) await cluster.plane.admin.send({ method: 'DELETE', path: `${path}/churn-${turn - 1}` });
    await delay(CHURN_MS);
  }
}

/** Seconds from the deletion of the pods on some nodes until there is one more Placement. */
async function untilPlaced(
  cluster: BenchCluster,
  { strangers, freed }: { readonly strangers: string; readonly freed: readonly string[] },
): Promise<number> {
  const placements = async (): Promise<number> =>
    (await cluster.client.list(`/apis/${API_GROUP_VERSION}/placements`)).items.length;
  const before = await placements();
  const body = { gracePeriodSeconds: 0 };
  await inTurns(freed, (node) =>
    cluster.plane.admin.send({ method: 'DELETE', path: `${podsOf(strangers)}/on-${node}`, body }),
  );
  const freedMs = performance.now();
  await waitFor(async () => (await placements()) > before, { what: 'freed GPUs to be placed', intervalMs: 50 });
  return (performance.now() - freedMs) / 1_000;
}
