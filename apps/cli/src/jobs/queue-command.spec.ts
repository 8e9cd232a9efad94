import type { JobStart, Queue, QueueJob } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { runCommand } from '../testing/run-command.ts';

const AS_OF = '2026-01-10T00:00:00.000Z';
const start = {
  at: '2026-01-10T02:05:00.000Z',
  earliest: '2026-01-10T02:00:00.000Z',
  latest: '2026-01-10T03:00:00.000Z',
  restsOn: 'Measured',
  nodesHeld: true,
} as const;
const job = aJob();
const mine: QueueJob = {
  position: 1,
  job: { id: job.id, name: 'tiny-gpt', namespace: 'research', project: 'research' },
  priority: 100,
  gpus: 64,
  waitingSince: '2026-01-09T21:00:00.000Z',
  start,
  constraint: { kind: 'Gpus', gpuType: null, needed: 64, free: 8, sentence: 'Needs 64 GPUs; 8 are free.' },
};
const other: QueueJob = { ...mine, position: 2, job: null, priority: 0, gpus: 8, start: null };
const starts = {
  ...{ count: 0, medianErrorSeconds: null, p90ErrorSeconds: null, medianErrorPct: null, p90ErrorPct: null, items: [] },
};
const aQueue = (changes: Partial<Queue> = {}): Queue => ({
  ...{ asOf: AS_OF, totalGpus: 128, freeGpus: 8, waitingJobs: 2, waitingGpus: 72, oldestWaitSeconds: 10_800 },
  ...{ problem: null, items: [mine, other], hasMore: false, timelineUntil: '2026-01-11T00:00:00.000Z', timeline: [] },
  ...{ hasMoreEvents: false, windows: [], use: [], starts },
  ...changes,
});
const ask = (argv: string, queue: Queue) =>
  runCommand(argv, { 'GET /v1/projects/research/queue': { json: queue }, 'GET /v1/projects/-/queue': { json: queue } });

describe('coxswain queue', () => {
  it('lists windows of the Fabric, one that is kept for another project without its name', async () => {
    const time = { from: AS_OF, until: '2026-01-10T06:00:00.000Z' };
    const windows = [
      { kind: 'Maintenance', name: 'firmware', project: null, ...time, nodes: 1 },
      { kind: 'Project', name: null, project: null, ...time, nodes: 4 },
    ] as const;
    const { out } = await ask('queue', aQueue({ waitingJobs: 0, items: [], windows: [...windows] }));
    expect(out.split('\n').slice(1)).toEqual([
      `1 node is in maintenance (firmware) from ${AS_OF} until 2026-01-10T06:00:00.000Z.`,
      `4 nodes are kept for a project from ${AS_OF} until 2026-01-10T06:00:00.000Z.`,
    ]);
  });

  it('lists jobs in order, those of other projects without names', async () => {
    const { code, out } = await ask('queue', aQueue());
    expect([code, out]).toEqual([
      0,
      [
        '2 jobs wait for 72 GPUs; 8 of 128 GPUs are free.',
        '',
        'POSITION  JOB       PROJECT   PRIORITY  GPUS  WAITED     EXPECTED START      WHY',
        '1         tiny-gpt  research  100       64    3 h 0 min  in 2 h 5 min, held  Needs 64 GPUs; 8 are free.',
        '2         -         another   0         8     3 h 0 min  not known           Needs 64 GPUs; 8 are free.',
      ].join('\n'),
    ]);
  });

  it.each<[string, Partial<Queue>, RegExp]>([
    ['says that no job waits', { waitingJobs: 0, items: [] }, /^No job waits for GPUs\. 8 of 128 GPUs are free\.$/],
    [
      'counts one free GPU as one',
      { waitingJobs: 0, items: [], freeGpus: 1 },
      /^No job waits for GPUs\. 1 of 128 GPUs is free\.$/,
    ],
    ['says why no start is predicted', { problem: 'No nodes.' }, /\nNo start is predicted: No nodes\.\n/],
    ['says that more jobs wait', { hasMore: true }, /\n2 jobs are listed; --limit 2000 lists more\.$/],
  ])('%s', async (_sentence, changes, want) => {
    expect((await ask('queue', aQueue(changes))).out).toMatch(want);
  });

  it('has the same as JSON, and asks for every project with --all', async () => {
    const { out, requests } = await ask('queue --all --limit 5 -o json', aQueue());
    expect(JSON.parse(out)).toMatchObject({ waitingJobs: 2, items: [{ position: 1 }, { job: null }] });
    expect(requests.map(({ path }) => path)).toContainEqual(expect.stringContaining('/v1/projects/-/queue'));
  });
});

describe('coxswain explain of a job that waits', () => {
  const answer: JobStart = {
    ...{ asOf: AS_OF, place: mine, waitingJobs: 2, problem: null },
    changes: [{ kind: 'FewerGpus', amount: 8, gpuType: null, start: AS_OF, sentence: 'Ask for 8 GPUs instead of 64.' }],
  };
  const explain = async (changes: Partial<JobStart> = {}): Promise<string> => {
    const queued = aJob({ state: 'Queued', jobsBefore: 0 });
    const path = `GET /v1/projects/research/jobs`;
    const routes = { [path]: { json: { items: [queued] } }, [`${path}/${queued.id}`]: { json: queued } };
    const asked = { [`${path}/${queued.id}/start`]: { json: { ...answer, ...changes } } };
    return (await runCommand('explain tiny-gpt', { ...routes, ...asked })).out;
  };

  it('has the constraint, the expected start, what it rests on, and the changes that were tried', async () => {
    expect(await explain()).toContain(`
Position 1 of 2. Needs 64 GPUs; 8 are free.
Expected start: in 2 h 5 min (2026-01-10T02:05:00.000Z), between 2 h 0 min and 3 h 0 min. Nodes are held for it. It rests on measured step times.
Each of these changes alone lets it start earlier:
  Ask for 8 GPUs instead of 64. Expected start: now.`);
  });

  it.each<[string, Partial<JobStart>, string]>([
    ['that has no latest time', { place: { ...mine, start: { ...start, latest: null } } }, ', not before 2 h 0 min.'],
    ['that is not known', { place: other, changes: [] }, 'Expected start: not known.'],
    ['that cannot be predicted', { problem: 'No nodes.' }, 'No start is predicted: No nodes.'],
  ])('has a start %s', async (_what, changes, want) => {
    expect(await explain(changes)).toContain(want);
  });
});
