import { waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { API_GROUP_VERSION, LABELS, type Job } from '@coxswain/api-types';
import { randomUUID } from 'node:crypto';
import { brokenInvariants, expectRowsToEqualCluster } from './support/audit.ts';
import { sleeperSpec, UNTIL_STOPPED } from './support/jobs.ts';
import { createProject, jobIn, ranksOf, resource, submit, type TestProject } from './support/project.ts';
import { releaseSharedSystem, sharedSystem } from './support/shared-system.ts';

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await sharedSystem();
  project = await createProject(system, 'paths');
});

afterAll(async () => {
  await releaseSharedSystem();
});

async function graphql(
  query: string,
  variables: object,
  token = project.token,
): Promise<{
  data?: Record<string, unknown>;
  errors?: readonly { message: string; extensions?: { code?: string } }[];
}> {
  const response = await fetch(`${system.apiUrl}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()) as { data?: Record<string, unknown> };
}

describe('a job', () => {
  it('submitted by REST is placed, runs, saves and completes, and its row equals the cluster', async () => {
    const submitted = await submit(project, 'by-rest', sleeperSpec({ steps: 30 }));
    const job = await jobIn(project, submitted.id, ['Complete']);
    expect(job).toMatchObject({ epoch: 1, restarts: { total: 0, charged: 0 }, checkpoint: { step: 30 } });
    expect((await resource(system, project.name, 'by-rest')).metadata.labels?.[LABELS.jobId]).toBe(job.id);
    await expectRowsToEqualCluster(system, project);
  });

  it('submitted by GraphQL takes the same way', async () => {
    const created = await graphql(
      'mutation($project: String!, $input: JobCreateInput!) { createJob(project: $project, input: $input) { id name state } }',
      { project: project.name, input: { name: 'by-graphql', spec: sleeperSpec({ steps: 10 }) } },
    );
    expect(created.errors).toBeUndefined();
    const { id } = created.data?.['createJob'] as Job;
    await jobIn(project, id, ['Complete']);
    const read = await graphql(
      'query($project: String!, $id: ID!) { job(project: $project, id: $id) { name state summary } }',
      { project: project.name, id },
    );
    expect(read.data?.['job']).toMatchObject({ name: 'by-graphql', state: 'Complete' });
  });

  it('made with kubectl gets its row and completes', async () => {
    const manifest = {
      apiVersion: API_GROUP_VERSION,
      kind: 'TrainingJob',
      metadata: { name: 'by-kubectl', namespace: project.name },
      spec: sleeperSpec({ steps: 10 }),
    };
    await system.plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(manifest) });
    const row = await waitFor(
      async () => (await project.api.jobPage(project.name)).items.find((job) => job.name === 'by-kubectl'),
      { what: 'the row of a job that kubectl made' },
    );
    expect((await jobIn(project, row.id, ['Complete'])).project).toBe(project.name);
    await expectRowsToEqualCluster(system, project);
  });

  it('tells its story in plain words, in order and each thing once', async () => {
    // Told in new pods: `Resumed` is an event of an epoch.
    const restartPolicy = { maxRestarts: 2, delaySeconds: 0, inPlace: 'Never' } as const;
    const fault = { rank: 3, step: 15, kind: 'exit', code: 1, epoch: 1 } as const;
    const submitted = await submit(project, 'story', sleeperSpec({ steps: 60, fault }, { restartPolicy }));
    const job = await jobIn(project, submitted.id, ['Complete']);
    const { items } = await project.api.jobEvents({ project: project.name, id: job.id });
    // Checkpoints are resources of their own: the last one may be heard of after the end of the job.
    const types = items.map((event) => event.type).filter((type) => type !== 'CheckpointSaved');
    for (const type of [
      'Submitted',
      'Placed',
      'Started',
      'Running',
      'RankFailed',
      'Restarting',
      'Resumed',
      'Completed',
    ])
      expect(types).toContain(type);
    expect([types[0], types.at(-1)]).toEqual(['Submitted', 'Completed']);
    expect(types.indexOf('RankFailed')).toBeLessThan(types.indexOf('Resumed'));
    expect(new Set(items.map((event) => `${event.epoch}/${event.type}/${event.message}`)).size).toBe(items.length);
    expect(items.find((event) => event.type === 'RankFailed')?.message).toMatch(
      /rank 3 on node local-\S+ exited with/i,
    );
  });

  it('serves the loss curve of its newest epochs, without a step twice', async () => {
    const [story] = (await project.api.jobPage(project.name)).items.filter((job) => job.name === 'story');
    // The series is stored in batches, a moment after the job is done.
    const items = await waitFor(
      async () => {
        const curve = (await project.api.steps({ project: project.name, id: story?.id ?? '' })).items;
        return curve.at(-1)?.step === 60 && curve;
      },
      { what: 'the last step to be stored' },
    );
    const steps = items.map((point) => point.step);
    expect(new Set(steps).size).toBe(steps.length);
    expect(items.at(-1)?.epoch).toBe(2);
  });

  it('shows where each rank is, by NVLink domain and island', async () => {
    const submitted = await submit(project, 'ranks', sleeperSpec({ steps: UNTIL_STOPPED }));
    await jobIn(project, submitted.id, ['Running']);
    const items = await ranksOf(project, { id: submitted.id, count: 4 });
    expect(items.map((place) => place.rank)).toEqual([0, 1, 2, 3]);
    expect(new Set(items.map((place) => place.island)).size).toBe(1);
    for (const first of [0, 2]) expect(items[first]?.nvlinkDomain).toBe(items[first + 1]?.nvlinkDomain);
    await project.api.cancel({ project: project.name, id: submitted.id });
    const cancelled = await jobIn(project, submitted.id, ['Cancelled']);
    expect(cancelled.conditions.find((condition) => condition.type === 'Failed')?.reason).toBe('Cancelled');
  });

  it('is suspended with a saved state, and resumed on another layout from there', async () => {
    // Steps enough that it is suspended long before its end, and few enough to see the end. It saves only when it is asked to stop, behind a shell.
    const plain = sleeperSpec({ steps: 300, saveEvery: UNTIL_STOPPED });
    const command = ['bash', '-c', `${(plain.engine.command ?? []).join(' ')}; end=$?; echo after; exit $end`];
    const submitted = await submit(project, 'held', { ...plain, engine: { ...plain.engine, command } });
    const at = { project: project.name, id: submitted.id };
    await jobIn(project, submitted.id, ['Running'], {
      and: (job) => (job.progress?.step ?? 0) >= 5 || job.checkpoint !== null,
    });
    await project.api.suspend(at);
    const held = await jobIn(project, submitted.id, ['Suspended']);
    expect(held.checkpoint?.step).toBeGreaterThan(0);
    expect(held.attempts[0]?.lostWork).toBeUndefined();
    await project.api.resume(at, {
      layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 2 },
    });
    const done = await jobIn(project, submitted.id, ['Complete']);
    expect(done.attempts.map((attempt) => attempt.outcome)).toEqual(['Suspended', 'Succeeded']);
    expect(done.attempts[1]?.resumedFrom?.step).toBe(held.checkpoint?.step);
    expect(done.attempts[1]?.layout.tensorParallelDegree).toBe(1);
    expect(done.restarts.charged).toBe(0);
  });

  it('waits with a sentence while GPUs are taken, and starts when they are free', async () => {
    const first = await submit(
      project,
      'takes-all',
      sleeperSpec(
        { steps: UNTIL_STOPPED },
        {
          layout: { tensorParallelDegree: 2, dataParallelDegree: 2, pipelineParallelDegree: 2 },
          resources: { acrossIslands: 'Sockets' },
        },
      ),
    );
    await jobIn(project, first.id, ['Running']);
    const second = await submit(project, 'waits', sleeperSpec({ steps: 5 }));
    const waiting = await jobIn(project, second.id, ['Queued'], {
      and: (job) => job.conditions.some((condition) => condition.reason === 'WaitingForCapacity'),
    });
    expect(waiting.summary).toMatch(/4 .*GPU/);
    await project.api.cancel({ project: project.name, id: first.id });
    await jobIn(project, second.id, ['Complete']);
  });

  it('deleted is gone with its pods, and its checkpoints stay', async () => {
    const submitted = await submit(project, 'deleted', sleeperSpec({ steps: UNTIL_STOPPED }));
    await jobIn(project, submitted.id, ['Running'], { and: (job) => job.checkpoint !== null });
    await project.api.deleteJob({ project: project.name, id: submitted.id });
    const namesOf = (...what: readonly string[]): Promise<string> =>
      system.plane.kubectl(['-n', project.name, 'get', ...what, '--ignore-not-found', '-o', 'name']);
    await waitFor(async () => (await namesOf('trainingjob', 'deleted')) === '', {
      what: 'the resource to go',
    });
    // No pod runs any more; what Kubernetes collects for its owner's sake follows in its own time.
    await waitFor(async () => (await namesOf('pods,placements', '-l', `${LABELS.jobName}=deleted`)) === '', {
      what: 'its pods and placements to be collected',
    });
    expect(
      await system.plane.kubectl([
        '-n',
        project.name,
        'get',
        'checkpoints',
        '-o',
        'jsonpath={.items[?(@.spec.jobName=="deleted")].spec.step}',
      ]),
    ).not.toBe('');
    await expectRowsToEqualCluster(system, project);
  });

  it('asked for twice with one idempotency key is made once', async () => {
    const key = randomUUID();
    const body = { name: 'once', spec: sleeperSpec({ steps: 5 }) };
    const [first, second] = await Promise.all([
      project.api.createJob(project.name, body, key).catch((error: unknown) => error),
      project.api.createJob(project.name, body, key).catch((error: unknown) => error),
    ]);
    const replay = await project.api.createJob(project.name, body, key);
    const made = [first, second].find((answer) => !(answer instanceof Error)) as Job;
    expect(replay.id).toBe(made.id);
    await jobIn(project, made.id, ['Complete']);
  });
});

describe('at the end', () => {
  it('no invariant is broken and rows equal the cluster', async () => {
    expect(await brokenInvariants(system, project.name)).toEqual([]);
    await expectRowsToEqualCluster(system, project);
  });
});
