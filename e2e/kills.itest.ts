import { API_GROUP_VERSION, LABELS, type Job, type TrainingJob } from '@coxswain/api-types';
import { listPodProcesses, startSystem, SYSTEM_NAMESPACE, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { brokenInvariants, expectRowsToEqualCluster } from './support/audit.ts';
import { sleeperSpec } from './support/jobs.ts';
import { createProject, jobIn, submit, type TestProject } from './support/project.ts';

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await startSystem({ shortLeases: true, operators: 2, separateWorker: true });
  project = await createProject(system, 'kills');
});

afterAll(async () => {
  await system.stop();
});

/** A moment of a job's life, told from the cluster; `submitted` is as soon as the API acknowledged. */
type Moment = 'submitted' | 'placed' | 'created' | 'released' | 'running' | 'saved';

/** A moment that lasts while the ranks sleep must last long enough to be seen; the others leave something that stays. */
const STEPS: Readonly<Record<Moment, number>> = {
  submitted: 20,
  placed: 20,
  created: 20,
  released: 40,
  running: 120,
  saved: 120,
};

async function reached(moment: Moment, name: string): Promise<boolean> {
  if (moment === 'submitted') return true;
  // Not by kubectl, whose start alone takes longer than some moments last.
  const read = async <T>(api: string, rest: string): Promise<T> =>
    system.plane.admin.json<T>({ method: 'GET', path: `/${api}/namespaces/${project.name}/${rest}` });
  const isThere = async (api: string, plural: string): Promise<boolean> => {
    const selector = encodeURIComponent(`${LABELS.jobName}=${name}`);
    return (await read<{ items: unknown[] }>(api, `${plural}?labelSelector=${selector}`)).items.length > 0;
  };
  if (moment === 'placed') return isThere(`apis/${API_GROUP_VERSION}`, 'placements');
  if (moment === 'created') return isThere('api/v1', 'pods');
  const { status } = await read<TrainingJob>(`apis/${API_GROUP_VERSION}`, `trainingjobs/${name}`);
  if (moment === 'released') return status?.attempts?.at(-1)?.releasedAt !== undefined;
  if (moment === 'running') return status?.state === 'Running';
  return status?.checkpoint !== undefined;
}

async function leader(): Promise<number> {
  const holder = await waitFor(
    async () =>
      (await system.plane.kubectl([
        '-n',
        SYSTEM_NAMESPACE,
        'get',
        'lease',
        'coxswain-operator',
        '-o',
        'jsonpath={.spec.holderIdentity}',
      ])) || undefined,
    { what: 'a leader' },
  );
  return Number(/^operator-(\d+)/.exec(holder)?.[1]); // Each start of a process adds a suffix of its own.
}

async function killLauncher(job: Job): Promise<void> {
  await waitFor(
    async () => {
      const uids = await system.plane.kubectl([
        '-n',
        project.name,
        'get',
        'pods',
        '-l',
        `${LABELS.jobName}=${job.name}`,
        '-o',
        'jsonpath={.items[*].metadata.uid}',
      ]);
      const launcher = uids
        .split(' ')
        .flatMap((uid) => listPodProcesses(system.nodesDirectory, uid))
        .find(({ argv }) => argv[0]?.endsWith('coxswain-launcher') === true && argv[1] === 'run');
      if (launcher === undefined) return false;
      process.kill(launcher.pid, 'SIGKILL');
      return true;
    },
    { what: 'a launcher to run' },
  );
}

const kill = { graceMs: 0 };

/** Kills a part with SIGKILL and returns what starts it again. */
const victims: Readonly<Record<string, (job: Job) => Promise<() => Promise<unknown>>>> = {
  API: async () => {
    await system.api.stop(kill);
    return () => system.startApi();
  },
  'queue worker': async () => {
    await system.worker?.stop(kill);
    return () => system.startWorker();
  },
  'leading operator': async () => {
    const index = await leader();
    await system.operators[index]?.process.stop(kill);
    return () => system.startOperator(index);
  },
};

const moments: readonly Moment[] = ['submitted', 'placed', 'created', 'released', 'running', 'saved'];

describe.each(Object.keys(victims))('the %s killed with SIGKILL', (victim) => {
  it.each(moments)('when the job is %s: it still finishes, once', async (moment) => {
    const name = `${victim.replaceAll(' ', '-').toLowerCase()}-${moment}`;
    const job = await submit(project, name, sleeperSpec({ steps: STEPS[moment] }));
    await waitFor(() => reached(moment, name), {
      intervalMs: 20,
      what: `the job to be ${moment}`,
    });
    const bringBack = await victims[victim]?.(job);
    await bringBack?.();
    const done = await jobIn(project, job.id, ['Complete']);
    expect(done.attempts.map((attempt) => attempt.outcome)).toEqual(['Succeeded']);
    expect(done.restarts).toEqual({ total: 0, charged: 0 });
  });
});

describe('a launcher killed with SIGKILL', () => {
  it.each(['running', 'saved'] as const)(
    'when the job is %s: the gang restarts from its checkpoint and finishes',
    async (moment) => {
      const name = `launcher-${moment}`;
      const job = await submit(project, name, sleeperSpec({ steps: STEPS[moment] }));
      await waitFor(() => reached(moment, name), {
        intervalMs: 20,
        what: `the job to be ${moment}`,
      });
      await killLauncher(job);
      const done = await jobIn(project, job.id, ['Complete']);
      expect(done.attempts.map((attempt) => attempt.outcome)).toEqual(['Failed', 'Succeeded']);
      expect(done.restarts).toEqual({ total: 1, charged: 1 });
    },
  );
});

describe('afterwards', () => {
  it('no invariant is broken and rows equal the cluster', async () => {
    expect(await brokenInvariants(system, project.name)).toEqual([]);
    await expectRowsToEqualCluster(system, project);
  });
});
