/*
 * More than 400 lines: one control plane serves all that one operator does, and starting another takes longer than most of it.
 */
import {
  LABELS,
  findCondition,
  isTrue,
  type Checkpoint,
  type Condition,
  type Placement,
  type TerminationCause,
  type TrainingJob,
  podName,
} from '@coxswain/api-types';
import { freePort, waitFor } from '@coxswain/local-cluster';
import { EXIT_CODES } from './process/exit-codes.ts';
import { sharedWorld } from './testing/shared-world.ts';
import type { World } from './testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
  await Promise.all(['node-a', 'node-b'].map((name) => world.node(name, 2)));
});
afterAll(() => world.stop());
afterEach(async () => {
  world.kubelet.isAwake = true;
  world.kubelet.fateOf = () => ({ kind: 'runs' });
  await world.clear();
});

describe('the operator', () => {
  it('takes a job from its creation to its end: placed, gated, released together, running, complete', async () => {
    world.kubelet.isAwake = false;
    await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'tiny');

    const released = await world.until(job, 'released', ({ status }) => status?.attempts?.[0]?.stage === 'Released');
    const pods = await world.pods(namespace);
    const placement = released.status?.attempts?.[0]?.placement;
    expect(pods.map(({ metadata }) => metadata.name).toSorted()).toEqual(
      [0, 1].map((podIndex) => podName(job.metadata, { epoch: 1, podIndex, placement })),
    );
    const path = `/apis/training.coxswain.dev/v1alpha1/namespaces/${namespace}/placements`;
    const { items } = await world.plane.admin.json<{ items: Placement[] }>({ method: 'GET', path });
    const nodes = items[0]?.spec.nodes ?? [];
    expect(nodes.toSorted()).toEqual(['node-a', 'node-b']);
    expect(isTrue(released.status?.conditions, 'Placed')).toBe(true);

    await waitFor(async () => (await world.pods(namespace)).every(({ spec }) => spec.nodeName !== undefined), {
      what: 'the scheduler to bind the released pods',
    });
    const bound = await world.pods(namespace);
    const nodeByIndex = Object.fromEntries(
      bound.map(({ metadata, spec }) => [metadata.labels?.[LABELS.podIndex], spec.nodeName]),
    );
    expect(nodeByIndex).toEqual({ 0: nodes[0], 1: nodes[1] });

    world.kubelet.isAwake = true;
    await world.until(job, 'running', ({ status }) => status?.state === 'Running');
    world.kubelet.fateOf = () => ({ kind: 'exits', code: 0 });
    const complete = await world.until(job, 'complete', ({ status }) => status?.state === 'Complete');
    expect(complete.status?.attempts).toMatchObject([{ epoch: 1, stage: 'Ended', outcome: 'Succeeded' }]);
  });

  it('answers a failure with a new epoch while the budget lasts, and then fails with rank, node, code and last lines', async () => {
    await world.operator();
    const namespace = await world.namespace();
    world.kubelet.fateOf = ({ jobName, podIndex, epoch }) =>
      jobName === 'ill' && podIndex === 1
        ? {
            kind: 'exits',
            code: 1,
            cause: {
              version: 1,
              kind: 'engineFailed',
              epoch,
              node: 'node-b',
              rank: 3,
              exitCode: 1,
              message: 'rank 3 exited with code 1',
              // Half a surrogate pair, a C1 control and a noncharacter: what YAML, and so an apply, refuses.
              lastLines: ['RuntimeError: out of luck \ud83d\u009b\uffff'],
              unreportedCheckpoints: [],
            },
          }
        : { kind: 'runs' };
    const job = await world.job(namespace, 'ill');

    const failed = await world.until(job, 'failed', ({ status }) => status?.state === 'Failed');

    expect(failed.status).toMatchObject({
      epoch: 2,
      restarts: { total: 1, charged: 1 },
      attempts: [
        { epoch: 1, outcome: 'Failed', reason: 'EngineFailed', charged: true },
        { epoch: 2, outcome: 'Failed', reason: 'EngineFailed' },
      ],
    });
    const message = failed.status?.conditions?.find(({ type }) => type === 'Failed')?.message ?? '';
    for (const part of ['Rank 3', 'exited with code 1', 'out of luck \ufffd\ufffd\ufffd'])
      expect(message).toContain(part);
  });

  it('condemns a checkpoint by what two nodes read and not by a mount or one node, and then begins from scratch only when it is told to', async () => {
    const cause = { version: 1 as const, node: '', message: '', lastLines: [], unreportedCheckpoints: [] };
    const saved = { step: 20, directory: 'step-20', format: 'x', bytes: 8, files: 1, manifestSha256: 'a'.repeat(64) };
    const path = '/coxswain/checkpoints/step-20/rank-0.bin';
    const mount = { kind: 'MountBroken', path, errno: 'ESTALE' } as const;
    const content = { kind: 'ContentDiffers', path, expected: '8 bytes', found: '7 bytes' } as const;
    const fates: readonly TerminationCause[] = [
      { ...cause, epoch: 1, kind: 'engineFailed', unreportedCheckpoints: [saved] },
      { ...cause, epoch: 2, kind: 'checkpointIoError', checkpointFault: mount },
      { ...cause, epoch: 3, kind: 'checkpointUnreadable', checkpointFault: content },
      { ...cause, epoch: 4, kind: 'checkpointUnreadable', checkpointFault: content },
    ];
    world.kubelet.fateOf = ({ jobName, podIndex, epoch }) => {
      const fate = jobName === 'stale' && podIndex === 1 ? fates[epoch - 1] : undefined;
      return fate === undefined ? { kind: 'runs' } : { kind: 'exits', code: 1, cause: fate };
    };
    await world.operator();
    const namespace = await world.namespace();
    await world.claim(namespace, 'checkpoints');
    const job = await world.job(namespace, 'stale', {
      checkpoint: { claimName: 'checkpoints' },
      restartPolicy: { maxRestarts: 1, delaySeconds: 0 },
    });

    const stuck = await world.until(job, 'waiting for a person', ({ status }) =>
      Boolean(status?.conditions?.some(({ reason }) => reason === 'CheckpointsUnusable')),
    );
    const name = `stale-${job.metadata.uid.slice(0, 8)}-e1-s20`;
    expect(stuck.status).toMatchObject({
      state: 'Queued',
      restarts: { charged: 1 },
      attempts: [
        { epoch: 1, reason: 'EngineFailed' },
        { reason: 'CheckpointIoError', charged: false, resumedFrom: { checkpoint: name }, checkpointFaults: [mount] },
        // The other node has the same ranks the second time.
        ...['node-b', 'node-a'].map((node) => ({
          reason: 'CheckpointUnreadable',
          charged: false,
          resumedFrom: { checkpoint: name },
          checkpointFaults: [{ node, ...content }],
        })),
      ],
    });
    expect(stuck.status?.checkpoint).toBeUndefined();
    const checkpoint = await world.plane.admin.json<Checkpoint>({
      method: 'GET',
      path: `/apis/training.coxswain.dev/v1alpha1/namespaces/${namespace}/checkpoints/${name}`,
    });
    expect(checkpoint.status).toMatchObject({
      state: 'Damaged',
      condemnation: {
        by: 'Content',
        evidence: [
          { epoch: 3, ...content },
          { epoch: 4, ...content },
        ],
      },
    });

    await world.plane.admin.json({
      method: 'PATCH',
      path: `/apis/training.coxswain.dev/v1alpha1/namespaces/${namespace}/trainingjobs/stale`,
      body: { spec: { resumeFrom: { from: 'scratch' } } },
      contentType: 'application/merge-patch+json',
    });
    const again = await world.until(job, 'running from scratch', ({ status }) => status?.state === 'Running');
    expect(again.status).toMatchObject({ epoch: 5, resumeFrom: { from: 'scratch', epoch: 5 } });
    expect(again.status?.attempts?.at(-1)?.resumedFrom).toBeUndefined();
  });

  it('answers the loss of a node with a new epoch on other nodes, which the budget does not pay for', async () => {
    await world.node('node-c', 2);
    await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'bereft', { restartPolicy: { maxRestarts: 0, delaySeconds: 0 } });
    await world.until(job, 'running', ({ status }) => status?.state === 'Running');
    const [lost] = (await world.pods(namespace)).flatMap(({ spec }) => spec.nodeName ?? []);
    await world.loseNode(lost ?? '');
    try {
      const isAgain = ({ status }: TrainingJob): boolean => status?.epoch === 2 && status.state === 'Running';
      // The pod on the lost node is given up 30 s after it should have gone.
      const again = await world.until(job, 'running on other nodes', isAgain);
      expect(again.status).toMatchObject({
        restarts: { total: 1, charged: 0 },
        attempts: [{ epoch: 1, outcome: 'Failed', reason: 'NodeLost', charged: false }, { epoch: 2 }],
      });
      const now = (await world.pods(namespace)).filter(({ metadata }) => metadata.labels?.[LABELS.epoch] === '2');
      expect(now.map(({ spec }) => spec.nodeName).toSorted()).toEqual(
        ['node-a', 'node-b', 'node-c'].filter((name) => name !== lost),
      );
    } finally {
      await world.restoreNode(lost ?? '');
      await world.plane.kubectl(['delete', 'node', 'node-c']);
    }
  });

  it('continues what another process began, without a second gang', async () => {
    const first = await world.operator({ identity: 'first' });
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'handed-over');
    await world.until(job, 'running', ({ status }) => status?.state === 'Running');
    const before = (await world.pods(namespace)).map(({ metadata }) => metadata.uid).toSorted();
    await first.stop();

    await world.operator({ identity: 'second' });
    world.kubelet.fateOf = () => ({ kind: 'exits', code: 0 });
    const complete = await world.until(job, 'complete', ({ status }) => status?.state === 'Complete');

    expect(complete.status?.epoch).toBe(1);
    expect((await world.pods(namespace)).map(({ metadata }) => metadata.uid).toSorted()).toEqual(before);
  });

  it('goes on after it was killed, wherever that was, and still makes one gang of one epoch', async () => {
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'survivor');
    const moments: readonly ((job: TrainingJob) => boolean)[] = [
      ({ metadata }) => (metadata.finalizers ?? []).length > 0,
      ({ status }) => status?.epoch === 1,
      ({ status }) => status?.attempts?.[0]?.stage === 'Released',
      ({ status }) => status?.state === 'Running',
    ];
    for (const isReached of moments) {
      const process = await world.operatorProcess();
      await world.until(job, 'at the moment of the kill', isReached);
      await process.kill();
    }
    await world.operator({ identity: 'last' });
    world.kubelet.fateOf = () => ({ kind: 'exits', code: 0 });
    const complete = await world.until(job, 'complete', ({ status }) => status?.state === 'Complete');
    expect(complete.status).toMatchObject({ epoch: 1, restarts: { total: 0, charged: 0 } });
    expect(await world.pods(namespace)).toHaveLength(2);
  });

  it('ends its process when its term ends while a call hangs, and the next process goes on with the same gang', async () => {
    const proxy = await world.faultProxy();
    const first = await world.operatorProcess({ apiserverUrl: proxy.url });
    const namespace = await world.namespace();
    const hangs = proxy.add({ match: { verbs: ['create'], path: /\/pods$/, times: 1 }, action: { kind: 'hang' } });
    const job = await world.job(namespace, 'orphaned');
    await waitFor(() => hangs.hits === 1, { what: 'the create of a pod to hang' });
    proxy.add({ match: { path: /\/leases\// }, action: { kind: 'refuse' } });
    expect(await first.exited).toEqual({ code: EXIT_CODES.termOver, signal: null });
    proxy.clearFaults();
    const second = await world.operatorProcess({ apiserverUrl: proxy.url });
    const runs = await world.until(job, 'running', ({ status }) => status?.state === 'Running');
    expect(runs.status).toMatchObject({ epoch: 1, restarts: { total: 0 } });
    expect(await world.pods(namespace)).toHaveLength(2);
    await second.kill();
  });

  it('waits for an API server that is away when it starts, alive but not ready, and stops on SIGTERM meanwhile', async () => {
    const proxy = await world.faultProxy();
    proxy.add({ action: { kind: 'refuse' } });
    const port = await freePort();
    const environment = { COXSWAIN_HEALTH_LISTEN_PORT: String(port) };
    const probe = async (path: string): Promise<number> =>
      fetch(`http://127.0.0.1:${port}${path}`).then(
        ({ status }) => status,
        () => 0,
      );
    const impatient = await world.operatorProcess({ apiserverUrl: proxy.url, environment });
    await waitFor(async () => (await probe('/healthz')) === 200, { what: 'the process to be alive' });
    expect(await probe('/readyz')).toBe(503);
    process.kill(impatient.pid, 'SIGTERM');
    expect(await impatient.exited).toEqual({ code: EXIT_CODES.stopped, signal: null });

    const patient = await world.operatorProcess({ apiserverUrl: proxy.url, environment });
    await waitFor(async () => (await probe('/healthz')) === 200, { what: 'the next process to be alive' });
    proxy.clearFaults();
    await waitFor(async () => (await probe('/readyz')) === 200, { what: 'it to find the API server' });
    await patient.kill();
  });

  it('lets one of two replicas lead, and the other take over when it goes', async () => {
    const replicas = [await world.operator({ identity: 'one' }), await world.operator({ identity: 'two' })];
    await waitFor(() => replicas.some((replica) => replica.isLeader()), { what: 'a leader' });
    expect(replicas.filter((replica) => replica.isLeader())).toHaveLength(1);
    for (const { healthPort } of replicas) {
      await waitFor(async () => (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status === 200, {
        what: 'leader and follower alike to be ready',
      });
    }
    const leader = replicas.find((replica) => replica.isLeader());
    const follower = replicas.find((replica) => replica !== leader);
    await leader?.stop();
    await waitFor(() => follower?.isLeader(), { what: 'the follower to lead' });
  });

  it('shares GPUs between jobs: the second waits in one sentence until the first has gone', async () => {
    await world.operator();
    const namespace = await world.namespace();
    const first = await world.job(namespace, 'first');
    await world.until(first, 'running', ({ status }) => status?.state === 'Running');
    const second = await world.job(namespace, 'second');
    const placed = (job: TrainingJob): unknown => job.status?.conditions?.find(({ type }) => type === 'Placed');
    const waiting = await world.until(second, 'told about', (job) => placed(job) !== undefined);
    expect(waiting.status?.state).toBe('Queued');
    expect(placed(waiting)).toMatchObject({ status: 'False', reason: 'WaitingForCapacity' });

    await world.plane.kubectl(['delete', 'trainingjob', '-n', namespace, 'first', '--wait=false']);
    await world.until(second, 'running', ({ status }) => status?.state === 'Running');
    await waitFor(
      async () =>
        (await world.pods(namespace)).every(({ metadata }) => metadata.labels?.[LABELS.jobUid] === second.metadata.uid),
      { what: 'the deleted job to leave no pod behind' },
    );
  });

  it('gives GPUs to one of several jobs that come at the same moment', async () => {
    const namespace = await world.namespace();
    const jobs = await Promise.all(['a', 'b', 'c'].map((name) => world.job(namespace, name)));
    await world.operator();
    const isSettled = ({ status }: TrainingJob): boolean =>
      status?.state === 'Running' ||
      status?.conditions?.find(({ type }) => type === 'Placed')?.reason === 'WaitingForCapacity';
    const settled = await Promise.all(jobs.map((job) => world.until(job, 'running or waiting', isSettled)));
    expect(settled.map(({ status }) => status?.state).toSorted()).toEqual(['Queued', 'Queued', 'Running']);
    expect(await world.pods(namespace)).toHaveLength(2);
  });

  it('makes the whole gang or none of it: whichever pod a quota refuses, the others are removed, and it is tried again', async () => {
    const more = ['node-c', 'node-d'];
    await Promise.all(more.map((name) => world.node(name, 2)));
    await world.operator();
    try {
      for (const { admitted, scopes } of QUOTAS_TOO_SMALL) {
        const namespace = await world.namespace();
        await quotaOfPods(namespace, admitted, scopes);
        const job = await world.job(namespace, 'too-big', {
          layout: { dataParallelDegree: 4 },
          resources: { gpusPerNode: 1 },
          restartPolicy: { maxRestarts: 0, delaySeconds: 0 },
        });
        const placedOf = ({ status }: TrainingJob): Condition | undefined =>
          findCondition(status?.conditions, 'Placed');
        const isWaiting = (seen: TrainingJob): boolean =>
          seen.status?.state === 'Queued' && placedOf(seen)?.reason === 'PodsRefused';
        const waits = await world.until(job, 'waiting', isWaiting);
        // No attempt begins if the quota is read, or if the cluster takes no pod; a gang that it takes in part is undone.
        const undone = { stage: 'Ended', outcome: 'Failed', reason: 'PodsRefused', charged: false };
        expect(waits.status?.attempts?.[0]).toEqual(
          admitted === 0 || scopes === undefined ? undefined : expect.objectContaining(undone),
        );
        const placed = placedOf(waits);
        expect([placed?.reason, placed?.message, waits.status?.summary]).toEqual([
          'PodsRefused',
          expect.stringContaining('exceeded quota: few-pods'),
          expect.stringContaining('exceeded quota: few-pods'),
        ]);
        expect((await world.pods(namespace)).every(({ spec }) => spec.nodeName === undefined)).toBe(true);

        await quotaOfPods(namespace, 4, scopes);
        const runs = await world.until(job, 'running', ({ status }) => status?.state === 'Running');
        expect(runs.status?.restarts.charged).toBe(0);
        const epochs = (await world.pods(namespace)).map(({ metadata }) => Number(metadata.labels?.[LABELS.epoch]));
        expect(epochs).toEqual([1, 2, 3, 4].map(() => runs.status?.epoch));
        await world.plane.kubectl(['delete', 'trainingjob', '-n', namespace, 'too-big', '--wait=true']);
      }
    } finally {
      await world.plane.kubectl(['delete', 'node', ...more]);
    }
  });

  it('suspends a job, and runs it again at another layout as a new epoch', async () => {
    await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'paused');
    const patch = (spec: Record<string, unknown>): Promise<string> =>
      world.plane.kubectl([
        'patch',
        'trainingjob',
        '-n',
        namespace,
        'paused',
        '--type=merge',
        '-p',
        JSON.stringify({ spec }),
      ]);
    await world.until(job, 'running', ({ status }) => status?.state === 'Running');
    await patch({ suspend: true });
    await world.until(job, 'suspended', ({ status }) => status?.state === 'Suspended');
    await waitFor(async () => (await world.pods(namespace)).length === 0, { what: 'the ended pods to be let go of' });
    await patch({ suspend: false, layout: { tensorParallelDegree: 1, dataParallelDegree: 2 } });
    const again = await world.until(job, 'running again', ({ status }) => status?.state === 'Running');
    expect(again.status?.epoch).toBe(2);
    expect(await world.pods(namespace)).toHaveLength(1);
    await patch({ cancel: true });
    await world.until(job, 'cancelled', ({ status }) => status?.state === 'Cancelled');
  });
});

describe('a job that leaves its layout to the planner', () => {
  it('is refused while nobody says which GPUs the nodes have, and planned and run when their labels do', async () => {
    await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'planned', {
      layout: undefined,
      gpus: 4,
      model: { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 },
      training: { steps: 10, globalBatchSize: 8 },
    });
    const refused = await world.until(job, 'refused', ({ status }) =>
      (status?.conditions ?? []).some(({ reason }) => reason === 'NoLayoutFits'),
    );
    expect(refused.status?.summary).toMatch(/label them with fabric.coxswain.dev\/gpu-type/);
    expect(await world.pods(namespace)).toEqual([]);

    const label = (text: string): Promise<string> =>
      world.plane.kubectl(['label', 'nodes', 'node-a', 'node-b', text, '--overwrite']);
    await label('fabric.coxswain.dev/gpu-type=h100');
    const running = await world.until(job, 'running', ({ status }) => status?.state === 'Running');
    expect(running.status?.plan).toMatchObject({ chosenBy: 'Planner', gpus: 4, gpuType: 'h100-sxm5-80gb' });
    expect(running.status?.attempts?.[0]).toMatchObject({
      layout: running.status?.plan?.layout,
      prediction: { stepMs: running.status?.plan?.predictedStepMs },
    });
    await label('fabric.coxswain.dev/gpu-type-');
  });
});

/** Quotas for a gang of four pods. The operator does not judge which pods a quota with scopes counts; the cluster does, pod by pod. */
const QUOTAS_TOO_SMALL: readonly { readonly admitted: number; readonly scopes?: readonly string[] }[] = [
  { admitted: 0 },
  { admitted: 3 },
  { admitted: 1, scopes: ['NotTerminating'] },
  { admitted: 3, scopes: ['NotTerminating'] },
];

/** Puts a quota in force, or changes it, and waits until the cluster counts by it. */
async function quotaOfPods(namespace: string, pods: number, scopes?: readonly string[]): Promise<void> {
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'few-pods', namespace },
    spec: { hard: { pods: String(pods) }, ...(scopes === undefined ? {} : { scopes }) },
  };
  await world.plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(quota) });
  const args = ['get', 'resourcequota', '-n', namespace, 'few-pods', '-o', 'jsonpath={.status.hard.pods}'];
  await waitFor(async () => (await world.plane.kubectl(args)) === String(pods), {
    what: 'the quota to be in force',
  });
}
