import { aFabricNode } from '@coxswain/fabric/testing';
import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import type { TrainingJob } from '@coxswain/api-types';
import { pastStarts } from './past-starts.ts';
import { gpuQuota, projectUses } from './project-use.ts';
import { jobStart, queueAnswer, type QueueAnswerFacts } from './queue-answer.ts';
import type { RecordedJob } from './queue-records.ts';
import { type QueueSnapshot, queueSnapshot, smallerSizes } from './queue-snapshot.ts';
import { QueueSnapshots, type SnapshotSources } from './queue-snapshots.ts';

const NOW = new Date('2026-01-10T12:00:00Z');
const at = (hours: number): string => new Date(NOW.getTime() + hours * 3_600_000).toISOString();
const OURS = '00000000-0000-4000-8000-0000000000aa';
const THEIRS = '00000000-0000-4000-8000-0000000000bb';

/** A job of 16 GPUs; names of a stranger are in everything that could show them. */
function aJobOf(uid: string, projectId: string, status: Partial<NonNullable<TrainingJob['status']>>): RecordedJob {
  const namespace = projectId === OURS ? 'research' : 'rivals';
  const job = aTrainingJob({
    metadata: { uid, name: `${namespace}-${uid}`, namespace },
    spec: {
      layout: { tensorParallelDegree: 8, dataParallelDegree: 2 },
      training: { steps: 1_000, globalBatchSize: 8, learningRate: 0.01 },
    },
  });
  return { id: uid, projectId, job: { ...job, status: { epoch: 0, restarts: { total: 0, charged: 0 }, ...status } } };
}
const waiting = (uid: string, projectId: string, hours: number): RecordedJob =>
  aJobOf(uid, projectId, {
    askedAt: at(-hours),
    conditions: [
      {
        ...{ type: 'Placed', status: 'False', reason: 'WaitingForCapacity', message: 'behind rivals-secret' },
        ...{ observedGeneration: 1, lastTransitionTime: at(-hours) },
      },
    ],
  });
const running = aJobOf('run', THEIRS, {
  epoch: 1,
  progress: { step: 500, reportedAt: at(0) },
  attempts: [
    anAttempt({
      startedAt: at(-10),
      firstStep: { step: 1, at: at(-10) },
      pace: { steps: 500, inStepsMs: 18_000_000, betweenStepsMs: 0, saves: 0 },
    }),
  ],
});

function aSnapshot(nodes: Parameters<typeof queueSnapshot>[0]['nodes'] = someNodes()): QueueSnapshot {
  const jobs = [running, waiting('first', THEIRS, 5), waiting('mine', OURS, 2), waiting('last', THEIRS, 1)];
  const pods = new Map([['run', [0, 1].map((index) => ({ node: `n${index}`, gpus: 8 }))]]);
  return queueSnapshot({ now: NOW, state: { jobs, pods, servedAt: new Map() }, nodes, gpus: undefined });
}
function someNodes(): {
  readonly fabric: Parameters<typeof queueSnapshot>[0]['nodes'] extends infer T
    ? T extends { fabric: infer F }
      ? F
      : never
    : never;
} {
  return { fabric: { nodes: ['n0', 'n1', 'n2'].map((name) => aFabricNode({ name, gpus: 8 })) } as never };
}

const names = new Map([['mine', { id: OURS, name: 'mine', namespace: 'research', project: 'research' }]]);
const facts: QueueAnswerFacts = { names, use: [], starts: pastStarts([]), projectOf: new Map(), limit: 10 };

describe('the queue as a member sees it', () => {
  it('has every job in order, and names only of jobs that a statement in the scope of the member found', () => {
    const answer = queueAnswer(aSnapshot(), facts);
    expect(answer.items.map(({ position, job, gpus }) => [position, job?.name ?? null, gpus])).toEqual([
      [1, null, 16],
      [2, 'mine', 16],
      [3, null, 16],
    ]);
    expect(JSON.stringify(answer)).not.toMatch(/rivals|secret|first|last/);
    expect(answer).toMatchObject({
      waitingJobs: 3,
      waitingGpus: 48,
      oldestWaitSeconds: 18_000,
      freeGpus: 8,
      totalGpus: 24,
    });
  });

  it('keeps the jobs of the member if there are too many', () => {
    const { items, hasMore } = queueAnswer(aSnapshot(), { ...facts, limit: 1 });
    expect([items.map(({ position }) => position), hasMore]).toEqual([[2], true]);
  });

  it('has the end that the first start rests on', () => {
    const { timeline, items } = queueAnswer(aSnapshot(), facts);
    expect(timeline[0]).toMatchObject({ kind: 'End', job: null, gpus: 16, restsOn: 'Measured' });
    expect(items[0]?.start).toMatchObject({ at: timeline[0]?.at, restsOn: 'Measured', nodesHeld: false });
    expect(items[0]?.constraint).toMatchObject({
      kind: 'Gpus',
      needed: 16,
      free: 8,
      sentence: 'Needs 16 GPUs; 8 are free.',
    });
  });

  it('predicts nothing without nodes, and says why', () => {
    const { items, timeline, problem } = queueAnswer(aSnapshot({ problem: 'The nodes cannot be read.' }), facts);
    expect([problem, timeline, items.map(({ start }) => start)]).toEqual([
      'The API cannot read the nodes of the cluster. Administrators find the reason on the page Fabric.',
      [],
      [null, null, null],
    ]);
  });
});

const changesFor = (uid: string) => new QueueSnapshots({} as SnapshotSources).changes(aSnapshot(), uid);

describe('windows of the Fabric', () => {
  const hour = (hours: number): number => NOW.getTime() + hours * 3_600_000;
  const windows = new Map([
    ['n0', [{ name: 'firmware', fromMs: hour(5), untilMs: hour(7), heldFromMs: 0 }]],
    ['n1', [{ name: 'secret-launch', fromMs: hour(2), untilMs: hour(3), heldFromMs: 0, namespace: 'rivals' }]],
    ['n2', [{ name: 'over', fromMs: hour(-2), untilMs: hour(-1), heldFromMs: 0 }]],
  ]);
  const answer = (projectOf: ReadonlyMap<string, string>) =>
    queueAnswer(aSnapshot({ ...someNodes(), windows }), { ...facts, projectOf }).windows;
  const times = [
    { from: at(2), until: at(3), nodes: 1 },
    { from: at(5), until: at(7), nodes: 1 },
  ].map(({ from, until, nodes }) => ({
    from: new Date(from).toISOString(),
    until: new Date(until).toISOString(),
    nodes,
  }));

  it('are listed, and one that is kept for another project has neither name nor project', () => {
    expect(answer(new Map())).toEqual([
      { kind: 'Project', name: null, project: null, ...times[0] },
      { kind: 'Maintenance', name: 'firmware', project: null, ...times[1] },
    ]);
  });

  it('have their names for members of the project for which they are kept', () => {
    expect(answer(new Map([['rivals', 'the-rivals']]))[0]).toMatchObject({
      name: 'secret-launch',
      project: 'the-rivals',
    });
  });

  it('delay jobs that would still run when they begin', () => {
    const start = (of: Parameters<typeof aSnapshot>[0]) => queueAnswer(aSnapshot(of), facts).items[0]?.start?.at ?? '';
    const all = ['n0', 'n1', 'n2'];
    const maintenance = { name: 'power', fromMs: hour(5), untilMs: hour(20), heldFromMs: 0 };
    const closed = new Map(all.map((name) => [name, [maintenance]]));
    expect(start({ ...someNodes(), windows: closed })).toBe(at(20));
    expect(start(someNodes()) < at(6)).toBe(true);
  });
});

describe('the start of one job', () => {
  it('has its place, its constraint, and changes that help', async () => {
    const { place, changes, waitingJobs } = jobStart(aSnapshot(), 'mine', { names, tried: await changesFor('mine') });
    expect([place?.position, waitingJobs, place?.job?.name]).toEqual([2, 3, 'mine']);
    expect(changes.map(({ kind, amount, sentence }) => [kind, amount, sentence])).toEqual([
      ['MoreNodes', 3, 'Add 3 empty nodes.'],
      ['FewerGpus', 8, 'Ask for 8 GPUs instead of 16.'],
      ['HigherPriority', null, 'Give it a higher priority, so that it is first in line.'],
    ]);
    expect(JSON.stringify([place, changes])).not.toMatch(/rivals|secret/);
  });

  it('is tried once for all readers of a snapshot', async () => {
    const [snapshots, snapshot] = [new QueueSnapshots({} as SnapshotSources), aSnapshot()];
    const [one, other] = await Promise.all([snapshots.changes(snapshot, 'mine'), snapshots.changes(snapshot, 'mine')]);
    expect(one).toBe(other);
    expect(await snapshots.changes(snapshot, 'run')).toEqual([]);
  });

  it('is none of a job that does not wait', () => {
    expect(jobStart(aSnapshot(), 'run', { names, tried: [] })).toMatchObject({ place: null, changes: [] });
    expect(jobStart(aSnapshot(), null, { names, tried: [] })).toMatchObject({ place: null, changes: [] });
  });
});

it('the use of a project is what it holds and waits for, against the quotas of its namespaces', () => {
  const project = { id: THEIRS, name: 'rivals', namespaces: ['a', 'b'] };
  const use = (quotas: Readonly<Record<string, number>>) => projectUses(aSnapshot(), [project], (name) => quotas[name]);
  const counts = { project: 'rivals', heldGpus: 16, waitingJobs: 2, waitingGpus: 32 };
  expect(use({ a: 8, b: 16 })).toEqual([{ ...counts, quotaGpus: 24 }]);
  expect(use({ a: 8 })).toEqual([{ ...counts, quotaGpus: null }]);
});

it('the strictest quota of a namespace counts, and quotas of other things do not', () => {
  const quota = (hard: Readonly<Record<string, string>>) => ({ metadata: { name: 'q' }, spec: { hard } });
  const gpus = 'requests.nvidia.com/gpu';
  expect(gpuQuota([quota({ [gpus]: '16' }), quota({ [gpus]: '8' }), quota({ pods: '1' })])).toBe(8);
  expect(gpuQuota([quota({ pods: '1' }), quota({ [gpus]: '1k' })])).toBeUndefined();
});

it('smaller sizes are fewer copies that divide the batch', () => {
  const { job } = waiting('a', OURS, 1);
  const spec = { ...job.spec, layout: { ...job.spec.layout, dataParallelDegree: 4 } };
  expect(smallerSizes({ ...job, spec } as TrainingJob, 32)).toEqual([16, 8]);
  const { layout: _layout, ...planned } = job.spec;
  expect(smallerSizes({ ...job, spec: { ...planned, gpus: 12 } } as TrainingJob, 12)).toEqual([6, 3]);
});

it('errors of past starts are absolute, in seconds and as a share of the expected wait', () => {
  const job = { id: OURS, name: 'a', namespace: 'a', project: null };
  const start = (errorSeconds: number, errorPct: number | null) => ({
    ...{ job, expectedSince: at(-9), expected: at(-8), actual: at(-8), errorSeconds, errorPct },
  });
  expect(pastStarts([start(60, 2), start(-600, -20), start(5, null)])).toMatchObject({
    ...{ count: 3, medianErrorSeconds: 60, p90ErrorSeconds: 600, medianErrorPct: 2, p90ErrorPct: 20 },
  });
  expect(pastStarts([])).toMatchObject({ count: 0, medianErrorSeconds: null, p90ErrorPct: null });
});
