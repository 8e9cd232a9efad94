import { waitFor } from '@coxswain/local-cluster';
import { clearNamespace, manifestsOf, runBareGang } from '../bare-client.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import type { BenchOperator } from '../bench-operator.ts';
import { totalOf } from '../operator-writes.ts';
import { RunningPods } from '../running-pods.ts';
import { CPU_MS_PER_POD, longestStretch, median, type Context, type Measurement, type Scenario } from '../scenario.ts';

const PATIENCE_MS = 300_000;
const WARM_UP_PODS = 16;

interface GangRun {
  readonly seconds: number;
  readonly cpuMsPerPod: number;
  readonly writesPerPod: number;
  readonly stretchesMs: readonly number[];
  readonly bytesPerManifest: number;
  readonly manifests: readonly Record<string, unknown>[];
}

interface BareRun {
  readonly seconds: number;
  /** Of creating and ungating: what two calls cost on this machine at this moment. */
  readonly cpuMsPerPod: number;
}

/** A gang against the same pods of a client that only creates and ungates them. */
export const gangBesideBareClient: Scenario = {
  name: 'gang',
  question:
    'one gang of 1,000 pods, submit to all running, beside the same manifests made and ungated by a bare client',
  bars: ['operator / bare client', 'operator CPU a pod'],
  run: async (context) => {
    const { cluster, size, progress } = context;
    const { pods, rounds } = size === 'full' ? { pods: 1_000, rounds: 5 } : { pods: 200, rounds: 1 };
    await cluster.haveNodes(pods);
    const ours: GangRun[] = [];
    const bare: BareRun[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const run = await operatorGang(context, pods);
      ours.push(run);
      progress(
        `round ${round} of ${rounds}: operator ${run.seconds.toFixed(1)} s, ${run.cpuMsPerPod.toFixed(1)} ms a pod`,
      );
      bare.push(await bareGang(context, run.manifests));
      progress(`round ${round} of ${rounds}: bare client ${bare.at(-1)?.seconds.toFixed(1)} s`);
    }
    const seconds = ours.map((run) => run.seconds);
    const bareSeconds = bare.map((run) => run.seconds);
    const bareCpu = bare.map((run) => run.cpuMsPerPod);
    return [
      { what: `${pods} pods running, operator`, value: median(seconds), unit: 's', of: seconds },
      { what: `${pods} pods running, bare client`, value: median(bareSeconds), unit: 's', of: bareSeconds },
      { what: 'operator / bare client', value: median(seconds) / median(bareSeconds), unit: 'x', atMost: 1.1 },
      ...perPod(ours),
      { what: 'bare client CPU a pod, its two calls alone', value: median(bareCpu), unit: 'ms', of: bareCpu },
    ];
  },
};

/** The same processor time per pod at four times the size: nothing in a gang's start may be quadratic. */
export const largeGang: Scenario = {
  name: 'large-gang',
  question: 'one gang of 4,096 pods: operator processor time a pod',
  bars: ['operator CPU a pod'],
  run: async (context) => {
    const pods = context.size === 'full' ? 4_096 : 800;
    await context.cluster.haveNodes(pods);
    const run = await operatorGang(context, pods);
    return [{ what: `${pods} pods running, operator`, value: run.seconds, unit: 's' }, ...perPod([run])];
  },
};

function perPod(runs: readonly GangRun[]): readonly Measurement[] {
  const cpu = runs.map((run) => run.cpuMsPerPod);
  return [
    { what: 'operator CPU a pod', value: median(cpu), unit: 'ms', of: cpu, atMost: CPU_MS_PER_POD },
    longestStretch(
      'start',
      runs.flatMap(({ stretchesMs }) => stretchesMs).toSorted((one, other) => other - one),
    ),
    { what: 'writes of the operator a pod', value: median(runs.map((run) => run.writesPerPod)), unit: '' },
    { what: 'bytes of a manifest', value: median(runs.map((run) => run.bytesPerManifest)), unit: 'B' },
  ];
}

async function operatorGang(context: Context, pods: number): Promise<GangRun> {
  const { cluster, progress } = context;
  const operator = await cluster.operator();
  const namespace = await cluster.namespace();
  try {
    // A program that has just started runs every function slowly; nobody's thousand pods are its first.
    const warmUp = await cluster.namespace();
    await oneGang(context, operator, { namespace: warmUp, pods: WARM_UP_PODS });
    await clearNamespace(cluster, warmUp);
    progress(`submits a gang of ${pods}`);
    return await oneGang(context, operator, { namespace, pods });
  } finally {
    // First, or it would have a look at each pod that goes.
    await operator.stop();
    await clearNamespace(cluster, namespace);
  }
}

async function oneGang(
  { cluster, progress }: Context,
  operator: BenchOperator,
  { namespace, pods }: { readonly namespace: string; readonly pods: number },
): Promise<GangRun> {
  const running = RunningPods.watch(cluster, namespace);
  try {
    const mark = await cluster.writes.mark();
    operator.stretchesMs();
    const before = operator.usage();
    const startedMs = performance.now();
    const { metadata } = await cluster.job(namespace, 'gang', pods);
    await operator.during(running.until(pods, PATIENCE_MS, progress));
    const seconds = (performance.now() - startedMs) / 1_000;
    await untilRunning(cluster, namespace);
    const cpuMsPerPod = (operator.usage().cpuMs - before.cpuMs) / pods;
    const stretchesMs = operator.stretchesMs();
    const writesPerPod = totalOf(await cluster.writes.since(mark)) / pods;
    const manifests = manifestsOf(
      await cluster.readJob(namespace, metadata.name),
      await cluster.readPlacement(namespace),
    );
    const bytesPerManifest = Buffer.byteLength(JSON.stringify(manifests.at(-1)));
    return { seconds, cpuMsPerPod, writesPerPod, stretchesMs, bytesPerManifest, manifests };
  } finally {
    await running.stop();
  }
}

/** The operator's work ends with the status that says so, a moment after the last pod runs. */
async function untilRunning(cluster: BenchCluster, namespace: string): Promise<void> {
  const look = async (): Promise<boolean> => (await cluster.readJob(namespace, 'gang')).status?.state === 'Running';
  await waitFor(look, { what: 'the status that says that the gang runs', deadlineMs: PATIENCE_MS, intervalMs: 100 });
}

async function bareGang(
  { cluster, progress }: Context,
  manifests: readonly Record<string, unknown>[],
): Promise<BareRun> {
  const namespace = await cluster.namespace();
  const running = RunningPods.watch(cluster, namespace);
  try {
    const startedMs = performance.now();
    const before = process.cpuUsage();
    await runBareGang(cluster, namespace, manifests);
    const { user, system } = process.cpuUsage(before);
    await running.until(manifests.length, PATIENCE_MS, progress);
    const seconds = (performance.now() - startedMs) / 1_000;
    return { seconds, cpuMsPerPod: (user + system) / 1_000 / manifests.length };
  } finally {
    await running.stop();
    await clearNamespace(cluster, namespace);
  }
}
