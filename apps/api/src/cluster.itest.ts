/** More than 400 lines: one cluster and one database serve all that the API has to do with a cluster, and starting others takes longer than most of it. */
import { readFile, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  ANNOTATIONS,
  API_GROUP_VERSION,
  type Checkpoint,
  LABELS,
  NODE_LABELS,
  type TrainingJob,
} from '@coxswain/api-types';
import { aJobSpec, aVerification, someContents } from '@coxswain/api-types/testing';
import { type ControlPlane, startControlPlane, waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { projectJob } from './projection/job-projection.ts';
import { type ApiUnderTest, startApiUnderTest } from './testing/api-under-test.ts';
import { migratedPostgres } from './testing/test-database.ts';

const CRDS = resolve(import.meta.dirname, '../../../charts/coxswain/definitions');
const JOBS = '/v1/projects/research/jobs';

let postgres: SharedPostgres;
let cluster: ControlPlane;
let api: ApiUnderTest;
let token: string;
let databaseUrl: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  cluster = await startControlPlane({ scheduler: false, controllerManager: false });
  const names = await readdir(CRDS);
  for (const name of names.filter((file) => file.endsWith('.yaml'))) {
    await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: await readFile(join(CRDS, name), 'utf8') });
  }
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
  await cluster.kubectl(['create', 'namespace', 'research']);
  await cluster.kubectl(['create', 'namespace', 'unowned']);
  databaseUrl = await postgres.createDatabase('api');
  api = await startApiUnderTest(start());
  token = await api.project('research');
});

afterAll(async () => {
  await api?.close();
  await cluster?.stop();
});

const start = (): { databaseUrl: string; environment: Record<string, string> } => ({
  databaseUrl,
  environment: { COXSWAIN_ROLE: 'all', COXSWAIN_KUBECONFIG: cluster.adminKubeconfigPath },
});

interface Resource {
  readonly metadata: { readonly uid: string; readonly labels?: Record<string, string> };
  readonly spec: {
    readonly suspend: boolean;
    readonly cancel: boolean;
    readonly layout: Record<string, number>;
    readonly resumeFrom?: object;
  };
}

const resourceOf = async (name: string): Promise<Resource> =>
  JSON.parse(await cluster.kubectl(['get', 'trainingjob', name, '-n', 'research', '-o', 'json'])) as Resource;
const manifest = (name: string, namespace = 'research', labels: Record<string, string> = {}): string =>
  JSON.stringify({
    apiVersion: API_GROUP_VERSION,
    kind: 'TrainingJob',
    metadata: { name, namespace, labels },
    spec: aJobSpec(),
  });
const submit = async (name: string, labels = {}): Promise<{ id: string; uid: string }> => {
  const made = await api.send('POST', JOBS, { token, body: { name, labels, spec: aJobSpec() } });
  expect(made).toMatchObject({ status: 201 });
  return waitFor(
    async () => {
      const { body } = await api.send('GET', `${JOBS}/${made.body.id}`, { token });
      return body.uid !== null && (body as { id: string; uid: string });
    },
    { what: `the UID of ${name}` },
  );
};
const untilJob = (
  id: string,
  what: string,
  condition: (job: { state: string; summary: string }) => boolean,
): Promise<unknown> =>
  waitFor(async () => condition((await api.send('GET', `${JOBS}/${id}`, { token })).body), {
    what,
  });

describe('between row and resource', () => {
  it('a submitted job is created in the cluster with our id, and its row learns the UID', async () => {
    const job = await submit('carried');
    const resource = await resourceOf('carried');
    expect(resource.metadata).toMatchObject({ uid: job.uid, labels: { [LABELS.jobId]: job.id } });
    await untilJob(job.id, 'state Queued', ({ state }) => state === 'Queued');
    // Whoever watches the cluster may be faster than who carried the job there.
    const outbox = async (): Promise<unknown[]> => [
      ...(await api.running.infrastructure.database.query('SELECT 1 FROM outbox')).rows,
    ];
    await waitFor(async () => (await outbox()).length === 0, { what: 'the outbox to be empty' });
  });

  it('suspend, resume on another layout and cancel reach the resource; cancel beats resume', async () => {
    const job = await submit('steered');
    const spec = async (): Promise<Resource['spec']> => (await resourceOf('steered')).spec;
    await api.send('POST', `${JOBS}/${job.id}/suspend`, { token });
    await waitFor(async () => (await spec()).suspend, { what: 'suspend' });
    const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 2 };
    const resumed = await api.send('POST', `${JOBS}/${job.id}/resume`, { token, body: { layout } });
    expect(resumed.status).toBe(200);
    await waitFor(async () => !(await spec()).suspend && (await spec()).layout, { what: 'resume' });
    expect((await spec()).layout).toEqual(layout);
    await api.send('POST', `${JOBS}/${job.id}/cancel`, { token });
    expect((await api.send('POST', `${JOBS}/${job.id}/resume`, { token })).body.code).toBe('CONFLICT');
    await waitFor(async () => (await spec()).cancel, { what: 'cancel' });
  });

  it('a change over the API or with kubectl counts in specVersion, and what the cluster makes of it does not', async () => {
    const job = await submit('counted');
    const versions = async (): Promise<{ specVersion: number; suspend: boolean; state: string }> => {
      const { body } = await api.send('GET', `${JOBS}/${job.id}`, { token });
      return { specVersion: body.specVersion, suspend: body.spec.suspend, state: body.state };
    };
    await untilJob(job.id, 'state Queued', ({ state }) => state === 'Queued');
    expect(await versions()).toMatchObject({ specVersion: 1 });
    const tag = { 'if-match': '"1"' };
    await api.send('POST', `${JOBS}/${job.id}/suspend`, { token, headers: tag });
    await waitFor(async () => (await resourceOf('counted')).spec.suspend, { what: 'suspend' });
    expect(await versions()).toMatchObject({ specVersion: 2, suspend: true });
    const patch = JSON.stringify({ spec: { suspend: false } });
    await cluster.kubectl(['patch', 'trainingjob', 'counted', '-n', 'research', '--type=merge', '-p', patch]);
    await waitFor(async () => !(await versions()).suspend, { what: 'the change of kubectl' });
    expect(await versions()).toMatchObject({ specVersion: 3 });
    const late = await api.send('POST', `${JOBS}/${job.id}/cancel`, { token, headers: { 'if-match': '"2"' } });
    expect(late).toMatchObject({ status: 412, body: { code: 'PRECONDITION_FAILED' } });
  });

  it('a resume from scratch reaches the resource as a request of its own, and one from no checkpoint of the job is refused', async () => {
    const job = await submit('rewound');
    const post = (what: string, body?: object) => api.send('POST', `${JOBS}/${job.id}/${what}`, { token, body });
    const resumedFrom = async (): Promise<unknown> => (await resourceOf('rewound')).spec.resumeFrom;
    const requests = new Set<unknown>();
    for (let round = 0; round < 2; round++) {
      await post('suspend');
      expect(await post('resume', { from: 'another-e1-s20' })).toMatchObject({
        status: 400,
        body: { code: 'INVALID_REQUEST', errors: [{ pointer: '/from' }] },
      });
      expect((await post('resume', { from: 'scratch' })).body.spec).toMatchObject({ resumeFrom: { from: 'scratch' } });
      await waitFor(
        async () => {
          const request = await resumedFrom();
          if (request !== undefined) requests.add(JSON.stringify(request));
          return requests.size === round + 1;
        },
        { what: 'the request' },
      );
    }
    expect(await resumedFrom()).toMatchObject({ from: 'scratch', request: expect.any(String) as string });
  });

  it('a resume on another layout that overtakes its suspend still arrives', async () => {
    const job = await submit('overtaken');
    await api.send('POST', `${JOBS}/${job.id}/suspend`, { token });
    const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 2, dataParallelDegree: 2 };
    await api.send('POST', `${JOBS}/${job.id}/resume`, { token, body: { layout } });
    await waitFor(
      async () => {
        const { spec } = await resourceOf('overtaken');
        return !spec.suspend && spec.layout['pipelineParallelDegree'] === 2;
      },
      { what: 'the new layout' },
    );
  });

  it('labels go to the resource, come back from kubectl, and neither takes away what the other wrote', async () => {
    const job = await submit('labelled', { team: 'vision', stage: 'old' });
    const labels = async (): Promise<unknown> => (await api.send('GET', `${JOBS}/${job.id}`, { token })).body.labels;
    expect((await resourceOf('labelled')).metadata.labels).toEqual({
      team: 'vision',
      stage: 'old',
      [LABELS.jobId]: job.id,
    });
    await cluster.kubectl(['label', 'trainingjob', 'labelled', '-n', 'research', 'cost=7', 'app.kubernetes.io/name=x']);
    await api.send('PATCH', `${JOBS}/${job.id}`, { token, body: { labels: { stage: null, team: 'speech' } } });
    const all = { 'app.kubernetes.io/name': 'x', cost: '7', team: 'speech' };
    await waitFor(async () => JSON.stringify(await labels()) === JSON.stringify(all), { what: 'all labels' });
    await waitFor(async () => (await resourceOf('labelled')).metadata.labels?.['stage'] === undefined, {
      what: 'the resource',
    });
    expect((await resourceOf('labelled')).metadata.labels).toEqual({ ...all, [LABELS.jobId]: job.id });
    const found = await api.send('GET', `${JOBS}?labelSelector=cost%3D7`, { token });
    expect(found.body.items.map(({ name }: { name: string }) => name)).toEqual(['labelled']);
  });

  it('of the log of a pod that is gone, the attempt tells what it recorded', async () => {
    const job = await submit('logged');
    const endedAt = '2026-01-02T00:00:00Z';
    const ended = { epoch: 1, stage: 'Ended', placement: 'logged-e1', layout: {}, startedAt: endedAt, endedAt };
    const record = (attempt: object, epoch: number): Promise<unknown> =>
      api.running.infrastructure.database.query(
        'INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) SELECT cluster_id, uid, $2, $3 FROM jobs WHERE id = $1',
        [job.id, epoch, JSON.stringify(attempt)],
      );
    const logs = (query: string) => api.send('GET', `${JOBS}/${job.id}/logs?${query}`, { token });
    expect((await logs('rank=0')).body.detail).toMatch(/has not been placed yet/);
    await record({ ...ended, outcome: 'Failed', reason: 'EngineFailed', message: 'Rank 1 exited\nTraceback' }, 1);
    await record({ ...ended, epoch: 2, outcome: 'Suspended', reason: 'SuspendRequested' }, 2);
    const first = await fetch(`${api.running.url}${JOBS}/${job.id}/logs?attempt=1`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(first.headers.get('coxswain-log-source')).toBe('attempt');
    expect(first.headers.get('cache-control')).toBe('no-store');
    expect(await first.text()).toMatch(
      /^# The pod of rank 0 of attempt 1 is gone[^\n]*2026-01-02[^\n]*\n# Of run 1:\nRank 1 exited\nTraceback\n$/,
    );
    expect((await logs('attempt=2')).body).toMatchObject({
      code: 'NOT_FOUND',
      detail: expect.stringMatching(/ended at 2026-01-02.*recorded no last lines/) as unknown,
    });
    expect((await logs('attempt=7')).body.detail).toMatch(/has no attempt 7; its newest is 2/);
  });

  it('a deleted job is deleted in the cluster and its record stays', async () => {
    const job = await submit('removed');
    expect((await api.send('DELETE', `${JOBS}/${job.id}`, { token })).status).toBe(202);
    await untilJob(job.id, 'state Deleted', ({ state }) => state === 'Deleted');
    await expect(resourceOf('removed')).rejects.toThrow(/not found/i);
  });

  it('a name that kubectl took is refused in words, and the foreign job is left as it is', async () => {
    // The projector must not know it yet, as in the race: the row comes first.
    await api.running.infrastructure.database.transaction(async (sql) => {
      await sql.query('LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE');
      await cluster.kubectl(['create', '-f', '-'], { input: manifest('taken') });
    });
    const foreign = await resourceOf('taken');
    const answer = await api.send('POST', JOBS, { token, body: { name: 'taken', spec: aJobSpec() } });
    if (answer.status === 201) {
      await untilJob(
        answer.body.id,
        'state Refused',
        ({ state, summary }) => state === 'Refused' && summary.includes('taken'),
      );
    } else {
      expect(answer).toMatchObject({ status: 409, body: { code: 'NAME_TAKEN' } });
    }
    expect((await resourceOf('taken')).metadata).toMatchObject({ uid: foreign.metadata.uid });
  });

  it('a missing object is never brought back by a command', async () => {
    const job = await submit('gone');
    await cluster.kubectl(['delete', 'trainingjob', 'gone', '-n', 'research']);
    await api.send('POST', `${JOBS}/${job.id}/suspend`, { token });
    await untilJob(job.id, 'state Deleted', ({ state }) => state === 'Deleted');
    await expect(resourceOf('gone')).rejects.toThrow(/not found/i);
  });

  it('a job made with kubectl appears in its project, and in an unowned namespace to administrators only', async () => {
    await cluster.kubectl(['create', '-f', '-'], { input: manifest('by-hand') });
    await cluster.kubectl(['create', '-f', '-'], { input: manifest('by-nobody', 'unowned') });
    const names = async (project: string, as: string): Promise<string[]> =>
      ((await api.send('GET', `/v1/projects/${project}/jobs`, { token: as })).body.items as { name: string }[]).map(
        ({ name }) => name,
      );
    await waitFor(async () => (await names('research', token)).includes('by-hand'), {
      what: 'the row',
    });
    await waitFor(async () => (await names('-', api.adminToken)).includes('by-nobody'), {
      what: 'the row',
    });
    expect(await names('research', token)).not.toContain('by-nobody');
    expect((await api.send('GET', '/v1/projects/-/jobs', { token })).status).toBe(404);
    await cluster.kubectl(['delete', 'trainingjob', 'by-hand', '-n', 'research']);
    await waitFor(async () => !(await names('research', token)).includes('by-hand'), {
      what: 'the row to go',
    });
  });

  it('status, attempts, checkpoints and the map of ranks follow the resources, never backwards', async () => {
    const job = await submit('mirrored');
    const layout = { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 };
    const at = '2026-01-01T00:00:00Z';
    const attempt = { epoch: 1, stage: 'Released', placement: 'mirrored-e1', layout, startedAt: at, releasedAt: at };
    const status = {
      state: 'Running',
      summary: 'It runs.',
      epoch: 1,
      restarts: { total: 0, charged: 0 },
      attempts: [attempt],
    };
    await cluster.kubectl(['create', '-f', '-'], {
      input: JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [
          {
            apiVersion: 'v1',
            kind: 'Node',
            metadata: {
              name: 'node-a',
              labels: {
                [NODE_LABELS.nvlinkDomain]: 'nv-1',
                [NODE_LABELS.nicIsland]: 'ib-1',
                [NODE_LABELS.nicType]: 'infiniband',
              },
            },
          },
          {
            apiVersion: API_GROUP_VERSION,
            kind: 'Placement',
            metadata: { name: 'mirrored-e1', namespace: 'research' },
            spec: {
              jobName: 'mirrored',
              jobUid: job.uid,
              epoch: 1,
              layout,
              worldSize: 4,
              ranksPerPod: 2,
              nodes: ['node-a', 'node-b'],
            },
          },
          {
            apiVersion: API_GROUP_VERSION,
            kind: 'Placement',
            metadata: { name: 'mirrored-e9', namespace: 'research' },
            spec: {
              jobName: 'mirrored',
              jobUid: job.uid,
              epoch: 9,
              layout,
              worldSize: 4,
              ranksPerPod: 4,
              nodes: ['forged'],
            },
          },
          {
            apiVersion: API_GROUP_VERSION,
            kind: 'Checkpoint',
            metadata: { name: 'mirrored-e1-s20', namespace: 'research' },
            spec: {
              jobName: 'mirrored',
              jobUid: job.uid,
              epoch: 1,
              step: 20,
              claimName: 'checkpoints',
              path: 'e1/step-20',
              layout,
              format: 'torch_dcp',
              bytes: 10,
              files: 1,
              manifestSha256: 'a'.repeat(64),
            },
          },
        ],
      }),
    });
    await cluster.kubectl([
      ...['patch', 'trainingjob', 'mirrored', '-n', 'research', '--subresource=status', '--type=merge'],
      ...['-p', JSON.stringify({ status })],
    ]);
    await untilJob(job.id, 'state Running', ({ state }) => state === 'Running');
    const read = async (what: string): Promise<{ items: readonly Record<string, unknown>[] }> =>
      (await api.send('GET', `${JOBS}/${job.id}/${what}`, { token })).body;
    expect((await api.send('GET', `${JOBS}/${job.id}`, { token })).body).toMatchObject({
      epoch: 1,
      attempts: [attempt],
    });
    await waitFor(async () => (await read('checkpoints')).items.length === 1, {
      what: 'the checkpoint',
    });
    expect((await read('checkpoints')).items[0]).toMatchObject({
      name: 'mirrored-e1-s20',
      step: 20,
      jobId: job.id,
      deletedAt: null,
    });
    const items = await waitFor(
      async () => {
        const ranks = (await read('ranks')).items;
        return ranks.length === 4 && ranks[0]?.['nvlinkDomain'] !== null && ranks;
      },
      { what: 'the ranks, and the labels of the node that has some' },
    );
    expect(items[1]).toMatchObject({
      rank: 1,
      podIndex: 0,
      node: 'node-a',
      tensorIndex: 1,
      dataIndex: 0,
      nvlinkDomain: 'nv-1',
      island: 'ib-1',
    });
    expect(items[2]).toMatchObject({
      rank: 2,
      podIndex: 1,
      node: 'node-b',
      tensorIndex: 0,
      dataIndex: 1,
      nvlinkDomain: null,
    });
    await waitFor(async () => (await read('events')).items.some(({ type }) => type === 'CheckpointSaved'), {
      what: 'the event of the checkpoint',
    });

    // An answer that comes late must not bring an older state back.
    const { database, cluster: row } = api.running.infrastructure;
    const older = JSON.parse(
      await cluster.kubectl(['get', 'trainingjob', 'mirrored', '-n', 'research', '-o', 'json']),
    ) as TrainingJob;
    const metadata = { ...older.metadata, resourceVersion: '1' };
    const projected = await database.transaction((sql) =>
      projectJob(sql, row, { ...older, metadata, status: { epoch: 0, restarts: { total: 0, charged: 0 } } }),
    );
    expect(projected?.changed).toBe(false);
    expect((await api.send('GET', `${JOBS}/${job.id}`, { token })).body).toMatchObject({ epoch: 1, state: 'Running' });
  });

  it('a pin and a wish for a verification reach the Checkpoint, and its verdict and groups of tensors come back', async () => {
    const path = '/v1/projects/research/checkpoints';
    const { body: listed } = await api.send('GET', `${path}?job=mirrored&good=true`, { token });
    expect(listed.items).toHaveLength(1);
    const one = `${path}/${listed.items[0].uid}`;
    const pinned = await api.send('PUT', `${one}/pin`, { token, body: { reason: 'baseline' } });
    expect(pinned).toMatchObject({ status: 200, body: { pin: 'baseline' } });
    const { body: asked } = await api.send('POST', `${one}/verify`, { token, body: { level: 'V2' } });
    const object = ['tckpt', 'mirrored-e1-s20', '-n', 'research'];
    const { metadata } = JSON.parse(await cluster.kubectl(['get', ...object, '-o', 'json'])) as Checkpoint;
    expect(metadata.annotations).toEqual({
      [ANNOTATIONS.pin]: 'baseline',
      [ANNOTATIONS.verify]: `V2 ${asked.requestedAt}`,
    });
    const group = {
      name: 'l.{0..1}.w',
      tensors: 2,
      dtype: 'float32',
      shape: [4],
      grid: [1],
      kind: 'parameter' as const,
    };
    const verification = aVerification({ level: 'V3', by: 'Worker', verdict: 'damaged', at: asked.requestedAt });
    const status = { state: 'Complete', verification, contents: someContents({ tensorGroups: [group] }) };
    const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
    await cluster.kubectl(['patch', ...object, ...patch]);
    const detail = await waitFor(
      async () => {
        // Verdicts and contents are read one after the other, so the first answer may have one of them.
        const { body } = await api.send('GET', one, { token });
        return body.verifications.length > 0 && body.tensorGroups !== null && body;
      },
      { what: 'the verdict and the groups' },
    );
    expect(detail).toMatchObject({ pin: 'baseline', verifications: [verification], tensorGroups: [group] });
    expect((await api.send('GET', `${path}?job=mirrored&good=true`, { token })).body.items).toEqual([]);
  });

  it('what vanished while nobody looked is found at the next start, and nothing is applied twice', async () => {
    const job = await submit('vanished');
    const kept = await submit('kept');
    const before = (await resourceOf('kept')).metadata;
    await api.close();
    await cluster.kubectl(['delete', 'trainingjob', 'vanished', '-n', 'research']);
    await cluster.kubectl(['create', '-f', '-'], { input: manifest('while-away') });
    api = await startApiUnderTest({ ...start(), adminToken: api.adminToken });
    await untilJob(job.id, 'state Deleted', ({ state }) => state === 'Deleted');
    await waitFor(
      async () => {
        const { body } = await api.send('GET', JOBS, { token });
        return (body.items as { name: string }[]).some(({ name }) => name === 'while-away');
      },
      { what: 'the row' },
    );
    expect((await resourceOf('kept')).metadata).toEqual(before);
    expect((await api.send('GET', `${JOBS}/${kept.id}`, { token })).body.uid).toBe(kept.uid);
  });

  it('a change whose queue entry was lost is found by the sweep', async () => {
    const job = await submit('swept');
    await api.running.infrastructure.database.query(
      `UPDATE jobs SET desired_suspend = true, generation = generation + 1, updated_at = now() - interval '1 hour' WHERE id = $1`,
      [job.id],
    );
    await waitFor(async () => (await resourceOf('swept')).spec.suspend, { what: 'suspend' });
  });

  it('events tell of the submission, over REST and as a stream', async () => {
    const job = await submit('told');
    const events = await waitFor(
      async () => {
        const { body } = await api.send('GET', `${JOBS}/${job.id}/events`, { token });
        return body.items.length > 0 && (body.items as { id: number; type: string }[]);
      },
      { what: 'an event' },
    );
    expect(events[0]).toMatchObject({ type: 'Submitted' });
    const stop = new AbortController();
    const response = await fetch(`${api.running.url}${JOBS}/${job.id}/events/stream`, {
      headers: { authorization: `Bearer ${token}` },
      signal: stop.signal,
    });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    let text = '';
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const readUntil = async (wanted: string): Promise<void> => {
      while (!text.includes(wanted)) {
        const part = await reader?.read();
        if (part === undefined || part.done) throw new Error(`the stream ended without ${wanted}: ${text}`);
        text += part.value;
      }
    };
    await readUntil('event: job');
    expect(text).toContain(`id: ${events[0]?.id}`);
    await api.send('POST', `${JOBS}/${job.id}/suspend`, { token });
    await readUntil('"suspend":true');
    stop.abort();
  });
});
