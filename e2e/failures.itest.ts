import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LABELS, NODE_MARKS, TrainingJobSpec } from '@coxswain/api-types';
import { findRank, LOCAL_IMAGES, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { brokenInvariants, expectRowsToEqualCluster } from './support/audit.ts';
import { gptSpec, sleeperSpec, UNTIL_STOPPED, type SleeperOptions } from './support/jobs.ts';
import { createProject, jobIn, ranksOf, submit, type TestProject } from './support/project.ts';
import { releaseSharedSystem, sharedSystem } from './support/shared-system.ts';

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await sharedSystem();
  project = await createProject(system, 'failures');
});

afterAll(async () => {
  await releaseSharedSystem();
});

async function podsOf(jobUid: string, epoch: number): Promise<readonly object[]> {
  const selector = encodeURIComponent(`${LABELS.jobUid}=${jobUid},${LABELS.epoch}=${epoch}`);
  const { items } = await system.plane.admin.json<{
    items: { metadata: { deletionTimestamp?: string }; status: { phase: string } }[];
  }>({ method: 'GET', path: `/api/v1/namespaces/${project.name}/pods?labelSelector=${selector}` });
  return items.map(({ metadata, status: { phase } }) => ({
    phase,
    isDeleted: metadata.deletionTimestamp !== undefined,
  }));
}

type Fault = NonNullable<SleeperOptions['fault']>;

describe('a rank that fails in every epoch', () => {
  it.each<[string, Fault, RegExp]>([
    ['exits with 1', { rank: 1, step: 3, kind: 'exit', code: 1 }, /rank 1 on node local-\S+ exited with (code )?1\b/i],
    ['is killed by the kernel', { rank: 2, step: 3, kind: 'sigkill' }, /rank 2 on node local-\S+ .*(137|SIGKILL)/i],
    [
      'raises a Python exception',
      { rank: 3, step: 3, kind: 'traceback' },
      /rank 3 on node local-\S+ exited with (code )?1\b[\s\S]*Traceback/i,
    ],
  ])('%s: the gang restarts while the budget lasts, then fails with the whole story', async (name, fault, want) => {
    const job = await submit(
      project,
      name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'),
      // Neither a save by schedule nor an end: sleeping ranks do not wait for each other, so it could come before the failure is heard of.
      sleeperSpec({ steps: UNTIL_STOPPED, saveEvery: UNTIL_STOPPED, fault }),
    );
    const failed = await jobIn(project, job.id, ['Failed']);
    const condition = failed.conditions.find(({ type }) => type === 'Failed');
    expect(condition?.reason).toBe('RestartsExhausted');
    expect(condition?.message).toMatch(want);
    expect(failed.restarts.charged).toBe(failed.spec.restartPolicy.maxRestarts);
    expect(failed.attempts.map((attempt) => attempt.outcome)).toEqual(['Failed', 'Failed', 'Failed']);
    // What is left of a gang is not asked to save.
    expect(failed.checkpoint).toBeNull();
    // Launchers end by themselves, so that the log of the failed rank stays.
    const pods = await podsOf(failed.uid ?? '', failed.epoch);
    expect(pods.length).toBeGreaterThan(0);
    expect(pods).toEqual(pods.map(() => ({ phase: 'Failed', isDeleted: false })));
  });

  it('exits with 93: the job fails at once, a restart would not help', async () => {
    const job = await submit(
      project,
      'no-restart',
      sleeperSpec({ steps: UNTIL_STOPPED, fault: { rank: 0, step: 2, kind: 'exit', code: 93 } }),
    );
    const failed = await jobIn(project, job.id, ['Failed']);
    expect(failed.attempts).toHaveLength(1);
    expect(failed.conditions.find(({ type }) => type === 'Failed')?.reason).toBe('DoNotRestart');
  });
});

describe('what is not the job’s fault', () => {
  it('a lost race for the rendezvous port ends the epoch with its own reason and costs no restart', async () => {
    const fault = { rank: 0, step: 1, kind: 'exit', code: 71, epoch: 1 } as const;
    const job = await submit(project, 'port-race', sleeperSpec({ steps: 60, fault }));
    const done = await jobIn(project, job.id, ['Complete']);
    expect(done.attempts.map(({ outcome, reason, charged }) => [outcome, reason, charged])).toEqual([
      ['Failed', 'RendezvousPortLost', false],
      ['Succeeded', undefined, undefined],
    ]);
    expect(done.restarts).toEqual({ total: 1, charged: 0 });
  });

  it('two gangs at once on one machine meet each their own ranks', async () => {
    const jobs = await Promise.all(['left', 'right'].map((name) => submit(project, name, sleeperSpec({ steps: 200 }))));
    const running = await Promise.all(jobs.map((job) => jobIn(project, job.id, ['Running'])));
    const places = await Promise.all(running.map(({ id }) => ranksOf(project, { id, count: 4 })));
    expect(new Set(places.flat().map(({ node }) => node)).size).toBe(4);
    const done = await Promise.all(jobs.map((job) => jobIn(project, job.id, ['Complete'])));
    expect(done.map(({ epoch }) => epoch)).toEqual([1, 1]);
  });
});

describe('a gang of which something is seen that often comes before a failure', () => {
  it('saves at once, by no schedule, is asked once, and stays', async () => {
    // Neither a save by schedule nor an end: whatever is saved was asked for.
    const job = await submit(project, 'suspect', sleeperSpec({ steps: UNTIL_STOPPED, saveEvery: UNTIL_STOPPED }));
    await jobIn(project, job.id, ['Running'], { and: ({ progress }) => (progress?.step ?? 0) >= 1 });
    const node = (await ranksOf(project, { id: job.id, count: 4 }))[0]?.node ?? '';
    const inHalfAnHour = new Date(Date.now() + 1_800_000).toISOString();
    await system.plane.kubectl(['annotate', 'node', node, `${NODE_MARKS.maintenance}=${inHalfAnHour}`]);
    const saved = await jobIn(project, job.id, ['Running'], {
      and: ({ attempts }) => attempts[0]?.earlySave?.outcome !== undefined,
    });
    await system.plane.kubectl(['annotate', 'node', node, `${NODE_MARKS.maintenance}-`]);
    const [attempt] = saved.attempts;
    expect(attempt).toMatchObject({ epoch: 1, stage: 'Released', earlySave: { request: 1, outcome: 'Saved' } });
    expect(attempt?.earlySave?.why).toContain(`Node ${node} will go away: maintenance`);
    const { items } = await project.api.checkpoints({ project: project.name, id: job.id });
    expect(items.map(({ step }) => step)).toEqual([attempt?.earlySave?.savedStep]);
    await project.api.cancel({ project: project.name, id: job.id });
    await jobIn(project, job.id, ['Cancelled']);
  });
});

describe('a checkpoint', () => {
  it('whose save was cut off in the middle is never chosen', async () => {
    const spec = sleeperSpec({ steps: 30, saveEvery: 10 });
    const command = [...(spec.engine.command ?? []), '--save-ms', '2000'];
    const job = await submit(project, 'cut-off', { ...spec, engine: { ...spec.engine, command } });
    const { uid } = await jobIn(project, job.id, ['Starting', 'Running'], { and: (seen) => seen.uid !== null });
    // Found beforehand, because there are only two seconds from the begin of a save to its end.
    const saving = await findRank(system, { namespace: project.name, jobUid: uid ?? '', rank: 0 });
    const folder = join(project.folders['checkpoints'] ?? '', 'runs', `cut-off-${uid?.slice(0, 8)}`, 'epoch-1');
    const second = await waitFor(() => readdirSync(folder).find((name) => /^step-0*20$/.test(name)), {
      intervalMs: 10,
      what: 'the second save to begin',
    });
    process.kill(saving.pid, 'SIGKILL');
    expect(existsSync(join(folder, second, 'manifest.json'))).toBe(false);
    const done = await jobIn(project, job.id, ['Complete']);
    expect(done.attempts[1]?.resumedFrom?.step).toBe(10);
    const known = await project.api.checkpoints({ project: project.name, id: job.id });
    expect(known.items.filter((item) => item.epoch === 1).map((item) => item.step)).toEqual([10]);
  });
});

describe('what a user got wrong', () => {
  it('an image that does not exist leaves a sentence with image and node, and cancel still works', async () => {
    const spec = sleeperSpec({ steps: 5 });
    const job = await submit(project, 'no-image', { ...spec, engine: { ...spec.engine, image: 'nowhere/nothing:1' } });
    const waiting = await jobIn(project, job.id, ['Starting'], {
      and: ({ conditions }) => conditions.some(({ reason }) => reason === 'ImageUnavailable'),
    });
    expect(waiting.summary).toMatch(/nowhere\/nothing:1/);
    expect(waiting.conditions.find(({ type }) => type === 'Running')?.message).toMatch(/local-/);
    await project.api.cancel({ project: project.name, id: job.id });
    await jobIn(project, job.id, ['Cancelled']);
  });

  it('a Secret that does not exist leaves a sentence with Secret and key; the job runs once there is one, and its value is nowhere', async () => {
    const canary = `canary-${randomUUID()}`;
    const check = [
      'import hashlib, os, sys',
      "values = [os.environ['CANARY'], open(os.environ['CANARY_FILE']).read()]",
      'sys.exit(any(hashlib.sha256(value.encode()).hexdigest() != sys.argv[1] for value in values))',
    ].join('\n');
    const job = await submit(
      project,
      'secretive',
      TrainingJobSpec.parse({
        engine: {
          name: 'command',
          image: LOCAL_IMAGES.sleeper,
          command: ['python3', '-c', check, createHash('sha256').update(canary).digest('hex')],
          env: [{ name: 'CANARY_FILE', value: '/coxswain/secrets/job-canary-file/key' }],
          secretEnv: [
            { name: 'CANARY', secret: 'job-canary', key: 'key' },
            { name: 'NOTHING', secret: 'job-nothing', key: 'key', optional: true },
          ],
          secretFiles: [
            { secret: 'job-canary-file', key: 'key' },
            { secret: 'job-nothing', key: 'key', optional: true },
          ],
        },
        layout: {},
        restartPolicy: { maxRestarts: 0 },
      }),
    );
    const create = (name: string): Promise<string> =>
      system.plane.kubectl(['-n', project.name, 'create', 'secret', 'generic', name, `--from-literal=key=${canary}`]);
    const waits = (words: RegExp): Promise<unknown> =>
      jobIn(project, job.id, ['Starting'], { and: ({ summary }) => words.test(summary) });
    await waits(/before they have mounted key key of Secret job-canary-file/);
    await create('job-canary-file');
    await waits(/variable CANARY is key key of Secret job-canary, and namespace failures has no such Secret/);
    await create('job-canary');
    await jobIn(project, job.id, ['Complete']);
    const seen = [
      await system.plane.kubectl(['-n', project.name, 'get', 'trainingjobs,pods,events', '-o', 'json']),
      JSON.stringify(await project.api.job({ project: project.name, id: job.id })),
      ...[system.logsDirectory, system.nodesDirectory]
        .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile() && entry.name.endsWith('.log'))
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8')),
    ];
    expect(seen.filter((text) => text.includes(canary))).toEqual([]);
  });

  it('a data file that does not exist fails the job at once with the engine’s sentence', async () => {
    const job = await submit(project, 'no-data', gptSpec({ data: { claimName: 'corpus', path: 'missing.txt' } }));
    const failed = await jobIn(project, job.id, ['Failed']);
    expect(failed.conditions.find(({ type }) => type === 'Failed')).toMatchObject({
      reason: 'DoNotRestart',
      message: expect.stringContaining('missing.txt') as string,
    });
  });

  it('a tensor group wider than an NVLink domain is told so, and what to change', async () => {
    const spec = sleeperSpec({ steps: 5 }, { layout: { tensorParallelDegree: 8 } });
    const job = await submit(project, 'too-wide', spec);
    const waiting = await jobIn(project, job.id, ['Queued'], {
      and: ({ conditions }) => conditions.some(({ reason }) => reason === 'TopologyUnsatisfiable'),
    });
    expect(waiting.summary).toMatch(/tensor/i);
  });
});

describe('at the end', () => {
  it('no invariant is broken and rows equal the cluster', async () => {
    expect(await brokenInvariants(system, project.name)).toEqual([]);
    await expectRowsToEqualCluster(system, project);
  });
});
