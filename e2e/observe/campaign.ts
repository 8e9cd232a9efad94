/** Jobs of the real controllers of JobSet and PyTorchJob, observed on local nodes; started by `npm run campaign -- observe`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OBSERVED_POD, type ObservedJob } from '@coxswain/api-types';
import {
  type CoxswainSystem,
  freePort,
  listPodProcesses,
  LOCAL_IMAGES,
  startSystem,
  waitFor,
} from '@coxswain/local-cluster';
import { renderChart } from '../../tools/chart/render.ts';
import { createProject, type TestProject } from '../support/project.ts';
import { installJobSet, JOBSETS } from './real-jobset.ts';
import { installTrainingOperator, PYTORCHJOBS } from './real-training-operator.ts';

const NAMESPACE = 'observed';
const PROGRAM = join(import.meta.dirname, 'train.py');
const NAMED_WITHIN_MS = 30_000;
const LABEL = { 'training.coxswain.dev/observe': 'true' };
/**
 * Rounds in which the job runs with and without an observer. Of each run its tenth of the quickest steps counts, and of the runs the quickest: other programs
 * of the machine make steps longer, and none shorter.
 */
const ROUNDS = 5;
/** Of this size, so that a step takes some 50 ms; the shortest steps of large models take more. */
const COSTLY = { TEST_STEPS: '250', TEST_PAUSE_SECONDS: '0', TEST_WIDTH: '1536' };

interface Ground {
  readonly system: CoxswainSystem;
  readonly project: TestProject;
}

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses?: readonly {
      readonly restartCount: number;
      readonly state: { readonly terminated?: { readonly exitCode: number } };
    }[];
  };
}

/** How a job differs from one that trains for a minute or so. */
interface JobOptions {
  readonly isObserved?: boolean;
  readonly ranks?: number;
  readonly env?: Readonly<Record<string, string>>;
}

async function createJobSet(
  { system }: Ground,
  name: string,
  { isObserved = true, ranks = 2, env = {} }: JobOptions = {},
): Promise<string> {
  const times = join(system.directory, `${name}.times`);
  const all = {
    WORLD_SIZE: String(ranks),
    MASTER_ADDR: '127.0.0.1',
    MASTER_PORT: String(await freePort()),
    TEST_STEPS: '1000',
    TEST_PAUSE_SECONDS: '0.1',
    TEST_TIMES: times,
    ...env,
  };
  const replicatedJobs = Array.from({ length: ranks }, (_, rank) => ({
    name: `rank-${rank}`,
    replicas: 1,
    template: {
      spec: {
        parallelism: 1,
        completions: 1,
        backoffLimit: 0,
        template: {
          metadata: { labels: isObserved ? LABEL : {} },
          spec: {
            restartPolicy: 'Never',
            terminationGracePeriodSeconds: 1,
            containers: [
              {
                name: 'main',
                image: LOCAL_IMAGES.reference,
                command: ['python3', PROGRAM],
                env: Object.entries({ ...all, RANK: String(rank) }).map(([key, value]) => ({ name: key, value })),
              },
            ],
          },
        },
      },
    },
  }));
  const body = { apiVersion: 'jobset.x-k8s.io/v1alpha2', kind: 'JobSet', metadata: { name }, spec: { replicatedJobs } };
  await system.plane.admin.json({ method: 'POST', path: `${JOBSETS}/namespaces/${NAMESPACE}/jobsets`, body });
  return times;
}

/** Ranks and world size come from the controller. Its name for the master is not in DNS here. */
async function createPyTorchJob({ system }: Ground, name: string): Promise<void> {
  const env = { TEST_STEPS: '1000', TEST_PAUSE_SECONDS: '0.1', TEST_TIMES: join(system.directory, `${name}.times`) };
  const container = {
    name: 'pytorch',
    image: LOCAL_IMAGES.reference,
    command: ['env', 'MASTER_ADDR=127.0.0.1', `MASTER_PORT=${await freePort()}`, 'python3', PROGRAM],
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
  };
  const template = { metadata: { labels: LABEL }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } };
  const replicas = { replicas: 1, restartPolicy: 'Never', template };
  const spec = { pytorchReplicaSpecs: { Master: replicas, Worker: replicas } };
  const body = { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', metadata: { name }, spec };
  await system.plane.admin.json({ method: 'POST', path: `${PYTORCHJOBS}/namespaces/${NAMESPACE}/pytorchjobs`, body });
}

async function podsOf({ system }: Ground, name: string): Promise<readonly Pod[]> {
  const label = name.startsWith('pytorch') ? 'training.kubeflow.org/job-name' : 'jobset.sigs.k8s.io/jobset-name';
  const selector = encodeURIComponent(`${label}=${name}`);
  const path = `/api/v1/namespaces/${NAMESPACE}/pods?labelSelector=${selector}`;
  const { items } = await system.plane.admin.json<{ readonly items: readonly Pod[] }>({ method: 'GET', path });
  return items.toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
}

async function deleteJob({ system }: Ground, name: string): Promise<void> {
  const kind = name.startsWith('pytorch') ? 'pytorchjob' : 'jobset';
  await system.plane.kubectl(['-n', NAMESPACE, 'delete', kind, name, '--wait=false']);
}

function seen({ project }: Ground, name: string, { what, isSo, deadlineMs = 180_000 }: Wanted): Promise<ObservedJob> {
  let last: ObservedJob | undefined;
  const look = async (): Promise<ObservedJob | undefined> => {
    const { jobs } = await project.api.observedJobs(project.name);
    last = jobs.find((job) => job.name === name);
    return last !== undefined && isSo(last) ? last : undefined;
  };
  return waitFor(look, { what: `job ${name} to ${what}`, deadlineMs, intervalMs: 250 }).catch((error: unknown) => {
    throw new Error(`${String(error)}; it is ${JSON.stringify(last)}`);
  });
}

interface Wanted {
  readonly what: string;
  readonly isSo: (job: ObservedJob) => boolean;
  readonly deadlineMs?: number;
}

const TRAINS: Wanted = {
  what: 'train',
  isSo: ({ phase, step, pods }) => phase === 'Training' && (step ?? 0) > 50 && pods.every(({ ranks }) => ranks !== ''),
};

/** The process of a rank, which is the first process of its container. */
async function processOf(ground: Ground, name: string, rank: number): Promise<number> {
  for (const { metadata } of await podsOf(ground, name)) {
    const found = listPodProcesses(ground.system.nodesDirectory, metadata.uid).find(
      ({ env, argv }) => env['RANK'] === String(rank) && argv.includes(PROGRAM) && !argv.includes('-c'),
    );
    if (found !== undefined) return found.pid;
  }
  throw new Error(`rank ${rank} of ${name} does not run`);
}

async function observersOf(ground: Ground, name: string): Promise<readonly number[]> {
  const pods = await podsOf(ground, name);
  return pods.flatMap(({ metadata }) =>
    listPodProcesses(ground.system.nodesDirectory, metadata.uid)
      .filter(({ argv }) => argv[0]?.startsWith(OBSERVED_POD.directory) === true)
      .map(({ pid }) => pid),
  );
}

const stepsIn = (times: string, rank: number): readonly number[] =>
  readFileSync(`${times}.${rank}`, 'utf8').trimEnd().split('\n').map(Number);

async function namesStoppedRank(ground: Ground, kind: 'JobSet' | 'PyTorchJob'): Promise<readonly string[]> {
  const name = `${kind.toLowerCase()}-stopped`;
  await (kind === 'JobSet' ? createJobSet(ground, name) : createPyTorchJob(ground, name));
  const training = await seen(ground, name, TRAINS);
  const pid = await processOf(ground, name, 1);
  process.kill(pid, 'SIGSTOP');
  const stoppedAtMs = performance.now();
  const named = await seen(ground, name, {
    what: 'be blamed',
    isSo: ({ standing, findings }) => standing !== null || findings.length > 0,
    deadlineMs: 60_000,
  });
  const namedAfterMs = performance.now() - stoppedAtMs;
  const sentence = named.standing ?? named.findings[0]?.message ?? '';
  process.stdout.write(`    named after ${(namedAfterMs / 1_000).toFixed(1)} s: ${sentence}\n`);
  const found = await seen(ground, name, {
    what: 'have a finding with stacks',
    isSo: ({ findings }) =>
      findings.some(({ evidence }) => Object.keys(evidence).some((key) => key.startsWith('stack'))),
    deadlineMs: 120_000,
  }).catch(() => undefined);
  process.stdout.write(`    ${JSON.stringify(found?.findings)}\n`);
  process.kill(pid, 'SIGCONT');
  await seen(ground, name, {
    what: 'train again',
    isSo: ({ phase, standing }) => phase === 'Training' && standing === null,
  });
  await deleteJob(ground, name);
  const { worldSize, pods } = training;
  const blamed = `${named.standing ?? ''} ${named.findings.map(({ message }) => message).join(' ')}`;
  return [
    ...(training.kind === kind && worldSize === 2 && pods.length === 2
      ? []
      : [`it was seen as ${JSON.stringify(training)}`]),
    ...(namedAfterMs <= NAMED_WITHIN_MS ? [] : [`it was named after ${Math.round(namedAfterMs)} ms`]),
    ...(/rank 1 /.test(blamed) ? [] : [`blame reads "${blamed}"`]),
    ...(found === undefined ? ['no finding with stacks came within two minutes'] : []),
  ];
}

async function endsAlike(ground: Ground): Promise<readonly string[]> {
  const env = { TEST_STEPS: '40', TEST_PAUSE_SECONDS: '0', TEST_EXIT_CODE: '7' };
  const ends: string[] = [];
  for (const isObserved of [false, true]) {
    const name = `ends-${isObserved}`;
    await createJobSet(ground, name, { isObserved, ranks: 1, env });
    const [pod] = await waitFor(
      async () => {
        const pods = await podsOf(ground, name);
        return pods.length === 1 && ['Failed', 'Succeeded'].includes(pods[0]?.status.phase ?? '') ? pods : undefined;
      },
      { what: `${name} to end`, deadlineMs: 120_000 },
    );
    const log = await ground.system.plane.admin.send({
      method: 'GET',
      path: `/api/v1/namespaces/${NAMESPACE}/pods/${pod?.metadata.name}/log`,
    });
    ends.push(
      JSON.stringify({
        phase: pod?.status.phase,
        codes: pod?.status.containerStatuses?.map(({ state }) => state.terminated?.exitCode),
        log: log.body,
      }),
    );
    await deleteJob(ground, name);
  }
  process.stdout.write(`    ${ends[0]?.slice(0, 160)}…\n`);
  return ends[0] === ends[1] && (ends[0] ?? '').includes('"codes":[7]') && (ends[0] ?? '').includes('step 40')
    ? []
    : ends;
}

async function outlivesUs(ground: Ground): Promise<readonly string[]> {
  const { system } = ground;
  const times = await createJobSet(ground, 'alone', { env: { TEST_STEPS: '600' } });
  await seen(ground, 'alone', TRAINS);
  const observers = await observersOf(ground, 'alone');
  await system.api.stop({ graceMs: 0 });
  await Promise.all(system.operators.map((operator) => operator.process.stop({ graceMs: 0 })));
  for (const pid of observers) process.kill(pid, 'SIGKILL');
  const before = stepsIn(times, 0).length;
  const ended = await waitFor(
    async () => {
      const pods = await podsOf(ground, 'alone');
      return pods.length === 2 && pods.every(({ status }) => ['Failed', 'Succeeded'].includes(status.phase))
        ? pods
        : undefined;
    },
    { what: 'the job to end by itself', deadlineMs: 180_000 },
  );
  await system.startOperator(0);
  await system.startApi();
  const codes = ended.flatMap(({ status }) =>
    (status.containerStatuses ?? []).map(({ state, restartCount }) => [state.terminated?.exitCode, restartCount]),
  );
  const after = stepsIn(times, 0).length;
  process.stdout.write(
    `    ${observers.length} observers, API and operator were killed at step ${before}; the job made step ${after}\n`,
  );
  return [
    ...(observers.length === 2 ? [] : [`${observers.length} observers were found`]),
    ...(before < 600 && after === 600 ? [] : [`it made ${after} steps, ${before} before the kill`]),
    ...(JSON.stringify(codes) === '[[0,0],[0,0]]' ? [] : [`exit codes and restarts are ${JSON.stringify(codes)}`]),
  ];
}

async function costsLittle(ground: Ground): Promise<readonly string[]> {
  const quickest: Record<'observed' | 'plain', number[]> = { observed: [], plain: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const isObserved of round % 2 === 0 ? [true, false] : [false, true]) {
      const name = `cost-${round}-${isObserved}`;
      const times = await createJobSet(ground, name, { isObserved, env: COSTLY });
      await waitFor(
        async () => {
          const pods = await podsOf(ground, name);
          return pods.length === 2 && pods.every(({ status }) => status.phase === 'Succeeded');
        },
        { what: `${name} to end`, deadlineMs: 180_000 },
      );
      quickest[isObserved ? 'observed' : 'plain'].push(quickStep(stepsIn(times, 0).slice(20)));
      await deleteJob(ground, name);
    }
  }
  const [observed, plain] = [Math.min(...quickest.observed), Math.min(...quickest.plain)];
  const share = observed / plain - 1;
  const inMs = (seconds: readonly number[]): string => seconds.map((one) => (one * 1e3).toFixed(2)).join(', ');
  process.stdout.write(
    `    a step takes ${inMs([plain])} ms, observed ${inMs([observed])} ms (${(share * 100).toFixed(2)} %); runs: ${inMs(quickest.plain)}; observed ${inMs(quickest.observed)}\n`,
  );
  return share <= 0.01 ? [] : [`a step takes ${(share * 100).toFixed(2)} % longer`];
}

/** A tenth of the steps took less. */
function quickStep(seconds: readonly number[]): number {
  return seconds.toSorted((a, b) => a - b)[Math.floor(seconds.length / 10)] ?? Number.NaN;
}

const ROWS: readonly { readonly name: string; readonly run: (ground: Ground) => Promise<readonly string[]> }[] = [
  {
    name: 'a stopped rank of a JobSet is named within 30 s, and the job is left alone',
    run: (ground) => namesStoppedRank(ground, 'JobSet'),
  },
  {
    name: 'so is one of a PyTorchJob',
    run: (ground) => namesStoppedRank(ground, 'PyTorchJob'),
  },
  { name: 'exit code and output are those of the job without an observer', run: endsAlike },
  { name: 'the job goes on when operator, API and observers are killed', run: outlivesUs },
  { name: 'a step takes at most 1 % longer', run: costsLittle },
];

/** The policy with the images of this machine, and the one right that observing adds. */
async function turnOn({ plane }: CoxswainSystem): Promise<void> {
  const image = ['operator.launcherImage.repository=coxswain/launcher', 'operator.launcherImage.tag=dev'];
  const input = await renderChart({
    templates: ['templates/observe.yaml', 'templates/operator-rbac.yaml'],
    values: ['observe.enabled=true', `observe.namespaces={${NAMESPACE}}`, ...image],
  });
  await plane.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input });
}

/** Whether every row whose name contains one of the words held. */
async function main(words: readonly string[]): Promise<boolean> {
  const rows = ROWS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  const system = await startSystem({
    shortLeases: true,
    operatorEnvironment: { COXSWAIN_OBSERVE_NAMESPACES: NAMESPACE },
  });
  let failed = 0;
  try {
    const controllers = [await installJobSet(system.plane), await installTrainingOperator(system.plane)];
    await turnOn(system);
    await system.operators[0]?.process.stop();
    await system.startOperator(0);
    const ground = { system, project: await createProject(system, NAMESPACE) };
    for (const { name, run } of rows) {
      const started = performance.now();
      const complaints = await run(ground).catch((error: unknown) => [
        error instanceof Error ? (error.stack ?? error.message) : String(error),
      ]);
      const seconds = Math.round((performance.now() - started) / 1_000);
      process.stdout.write(`${complaints.length === 0 ? '✓' : '✗'} ${name} (${seconds} s)\n`);
      for (const complaint of complaints) process.stdout.write(`    ${complaint}\n`);
      if (complaints.length > 0) failed += 1;
    }
    await Promise.all(controllers.map((controller) => controller.stop()));
  } finally {
    await system.stop({ keepLogs: failed > 0 });
  }
  return failed === 0;
}

process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1;
