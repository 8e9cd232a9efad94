import {
  CONTAINERS,
  findCondition,
  POD_ENV,
  REPORT_PATH,
  REPORT_TOKEN_AUDIENCE,
  SERIES_PATH,
  type Checkpoint,
  type LauncherMessage,
  type OperatorMessage,
  type RankAssignment,
  type TrainingJob,
} from '@coxswain/api-types';
import { SYSTEM_NAMESPACE, waitFor } from '@coxswain/local-cluster';
import { request } from 'node:https';
import WebSocket from 'ws';
import type { Operator } from '../operator.ts';
import type { RawPod } from '../testing/raw-pod.ts';
import { sharedWorld } from '../testing/shared-world.ts';
import type { World } from '../testing/world.ts';

let world: World;
let operator: Operator;
let namespace: string;
let job: TrainingJob;
let pods: readonly RawPod[];
beforeAll(async () => {
  world = await sharedWorld();
  await Promise.all(['node-a', 'node-b'].map((name) => world.node(name, 2)));
  operator = await world.operator();
  namespace = await world.namespace();
  await world.claim(namespace, 'checkpoints');
  job = await world.job(namespace, 'talker', {
    checkpoint: { claimName: 'checkpoints', path: 'runs', everySteps: 10 },
    training: { steps: 100, globalBatchSize: 8 },
    engine: { name: 'command', image: 'example/image', command: ['sleep', '1'] },
    restartPolicy: { maxRestarts: 2, delaySeconds: 0 },
  });
  await world.until(job, 'running', ({ status }) => status?.state === 'Running');
  pods = (await world.pods(namespace)).toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
});
afterAll(() => world.stop());

const open: WebSocket[] = [];
/** A launcher counts on over its connections. */
let sequence = 0;
afterEach(() => {
  for (const socket of open.splice(0)) socket.terminate();
});

describe('the report endpoint', () => {
  it('welcomes a pod of the gang, and hands the address of rank 0 to the others, now and when they come back', async () => {
    const first = await connect(0);
    first.send({ kind: 'hello' });
    await first.received('welcome');
    first.send({ kind: 'heartbeat', rendezvous: '127.0.1.1:29500' });
    const second = await connect(1);
    second.send({ kind: 'hello' });
    expect(await second.received('rendezvous')).toMatchObject({ address: '127.0.1.1:29500' });
    second.socket.terminate();
    const again = await connect(1);
    again.send({ kind: 'hello' });
    expect(await again.received('rendezvous')).toMatchObject({ address: '127.0.1.1:29500' });
  });

  it('gives each pod its ranks when it says that it has none, and no more once it runs them', async () => {
    const launchers = [await connect(0), await connect(1)];
    for (const launcher of launchers) launcher.send({ kind: 'hello', state: 'waiting' });
    const assignments = await Promise.all(launchers.map((launcher) => launcher.received('assignment')));
    const saveDirectory = `runs/talker-${job.metadata.uid.slice(0, 8)}/epoch-1`;
    expect(assignments.map((message) => ('assignment' in message ? message.assignment : {}))).toEqual(
      ['0-1', '2-3'].map((ranks, podIndex) => {
        return {
          epoch: 1,
          incarnation: 1,
          podIndex,
          podCount: 2,
          ranks,
          worldSize: 4,
          saveDirectory,
          onFailure: 'wait',
        };
      }),
    );
  });

  it('acknowledges a saved checkpoint once the resource exists, and twice is once', async () => {
    const launcher = await connect(0);
    launcher.send({ kind: 'hello' });
    const checkpoint = {
      step: 10,
      directory: 'step-10',
      format: 'torch_dcp',
      bytes: 1000,
      files: 3,
      manifestSha256: 'a'.repeat(64),
    };
    const sequence = launcher.send({ kind: 'checkpointSaved', checkpoint });
    await launcher.acknowledged(sequence);
    await launcher.acknowledged(launcher.send({ kind: 'checkpointSaved', checkpoint }));
    const { items } = await world.plane.admin.json<{ items: Checkpoint[] }>({
      method: 'GET',
      path: `/apis/training.coxswain.dev/v1alpha1/namespaces/${namespace}/checkpoints`,
    });
    const directory = `runs/talker-${job.metadata.uid.slice(0, 8)}/epoch-1/step-10`;
    expect(items).toMatchObject([
      { spec: { step: 10, epoch: 1, claimName: 'checkpoints', path: directory }, status: { state: 'Complete' } },
    ]);
    const seen = await world.until(job, 'aware of it', ({ status }) => status?.checkpoint !== undefined);
    expect(seen.status?.checkpoint?.step).toBe(10);
  });

  it('shows steps in the job’s status and streams them to a reader that may see them', async () => {
    const launcher = await connect(0);
    launcher.send({ kind: 'hello' });
    const ranks = [0, 1].map((rank) => ({ rank, stepTimeMs: 100, timingsMs: { forward: 40 } }));
    const report = { step: 12, loss: 2.5, tokens: 1024, learningRate: 0.001, gradNorm: 1, ranks };
    launcher.send({ kind: 'step', report });
    const seen = await world.until(job, 'shown at step 12', ({ status }) => status?.progress?.step === 12);
    expect(seen.status?.progress).toMatchObject({ step: 12, totalSteps: 100, loss: 2.5, tokensPerSecond: 10_200 });
    const frames = await readSeries(await tokenOf('coxswain-api'), 2);
    expect(frames[1]).toMatchObject({ kind: 'step', step: 12, jobName: 'talker', epoch: 1, ranks });
    await expect(readSeries(await tokenOf('coxswain-operator'), 1)).rejects.toThrow('403');
  });

  it.each([
    ['without a token', { token: undefined }, {}, 'unauthenticated'],
    ['with a token that the API server does not know', { token: 'forged' }, {}, 'unauthenticated'],
    ['with the token of another pod of the same gang', { tokenOf: 1 }, {}, 'unauthenticated'],
    ['that claims another epoch', {}, { epoch: 7 }, 'unauthenticated'],
    ['that claims another place in the gang', {}, { podIndex: 1 }, 'unauthenticated'],
  ] as const)('refuses a launcher %s', async (_what, credentials, claim, want) => {
    const launcher = await connect(0, credentials);
    launcher.send({ kind: 'hello', ...claim });
    expect(await launcher.received('refused')).toMatchObject({ code: want });
    await waitFor(() => launcher.socket.readyState === WebSocket.CLOSED, { what: 'the close' });
  });

  it('holds what a rank really trains against the layout, and says in a condition what differs', async () => {
    const first = await connect(0);
    first.send({ kind: 'hello' });
    await first.received('welcome');
    const facts = { backend: 'gloo', mesh: [], groups: [], wrappers: [], parameterBytes: 1, optimizerBytes: 2 };
    first.send({ kind: 'trained', rank: 0, facts: { ...facts, worldSize: 1000 } });
    const seen = await world.until(job, 'a condition', ({ status }) =>
      (status?.conditions ?? []).some(({ type }) => type === 'TrainedAsAsked'),
    );
    const condition = findCondition(seen.status?.conditions, 'TrainedAsAsked');
    expect(condition).toMatchObject({ status: 'False', reason: 'LayoutDiffers' });
    expect(condition?.message).toMatch(/^Rank 0 is in a process group of 1000, and the layout is one of \d+ ranks\.$/);
    expect(seen.status?.attempts?.at(-1)?.trained).toMatchObject({
      incarnation: 1,
      seen: expect.stringMatching(/^Rank 0 trains with 1000 ranks over gloo;/) as unknown,
      differences: [condition?.message],
    });
    expect(seen.status?.state).toBe('Running');
  });

  it('sends a launcher on to the leader when it asks a follower', async () => {
    const follower = await world.operator({ identity: 'follower' });
    // It learns who leads when it asks for the lease itself, a moment after its start.
    const refusal = await waitFor(
      async () => {
        const launcher = await connect(0, { port: follower.reportPort });
        launcher.send({ kind: 'hello' });
        const received = await launcher.received('refused');
        return 'leaderUrl' in received ? received : undefined;
      },
      { what: 'the follower to know the leader' },
    );
    const leaderUrl = `https://127.0.0.1:${operator.reportPort}`;
    expect(refusal).toMatchObject({ code: 'notLeader', leaderUrl });
    await follower.stop();
  });

  it('starts the ranks again in the same pods when one fails: recorded, ended everywhere, and only then begun', async () => {
    const uids = pods.map(({ metadata }) => metadata.uid);
    const launchers = [await connect(0), await connect(1)] as const;
    const [first, second] = launchers;
    for (const launcher of launchers) launcher.send({ kind: 'hello', state: 'waiting' });
    for (const launcher of launchers) await launcher.assigned(1);
    const running = { kind: 'heartbeat', state: 'running', incarnation: 1 } as const;
    await Promise.all(launchers.map((launcher) => launcher.acknowledged(launcher.send(running))));

    const cause = { version: 1, kind: 'engineFailed', epoch: 1, incarnation: 1, node: 'node-a', rank: 1, exitCode: 1 };
    const reaped = { kind: 'reaped', state: 'reaped', incarnation: 1 } as const;
    const reported = { ...cause, message: '', lastLines: [], lastStep: 12, unreportedCheckpoints: [] };
    await first.acknowledged(first.send({ ...reaped, cause: reported }));
    expect(await second.received('endRanks')).toMatchObject({ epoch: 1, incarnation: 1 });
    const recorded = await world.readJob(namespace, job.metadata.name);
    expect(recorded.status).toMatchObject({ epoch: 1, state: 'Restarting', restarts: { total: 1, charged: 1 } });
    expect(recorded.status?.attempts?.[0]).toMatchObject({
      stage: 'Released',
      incarnation: 2,
      resumedFrom: { step: 10 },
      incarnations: [{ incarnation: 1, reason: 'EngineFailed', charged: true, lastStep: 12 }],
    });
    // It is told again what it said before, and nobody begins while the other may still run.
    await first.acknowledged(first.send({ ...reaped, cause: reported }));
    expect(first.all.some((one) => one.kind === 'assignment' && one.assignment.incarnation === 2)).toBe(false);

    await second.acknowledged(second.send(reaped));
    const directory = `runs/talker-${job.metadata.uid.slice(0, 8)}`;
    for (const launcher of launchers) {
      expect(await launcher.assigned(2)).toMatchObject({
        saveDirectory: `${directory}/epoch-1-2`,
        resume: { step: 10, path: `${directory}/epoch-1/step-10` },
      });
      launcher.send({ kind: 'heartbeat', state: 'running', incarnation: 2 });
    }
    const again = await world.until(job, 'running again', ({ status }) => status?.state === 'Running');
    expect(again.status).toMatchObject({ epoch: 1, restarts: { total: 1, charged: 1 } });
    expect((await world.pods(namespace)).map(({ metadata }) => metadata.uid).toSorted()).toEqual(uids.toSorted());
  });

  it('sends the launchers of a gang that lost a pod away unasked, so that they save nothing, and again when they come back', async () => {
    world.kubelet.isAwake = false;
    const launcher = await connect(0);
    launcher.send({ kind: 'hello' });
    await launcher.received('welcome');
    const path = `/api/v1/namespaces/${namespace}/pods/${pods[1]?.metadata.name}`;
    const body = { gracePeriodSeconds: 0, preconditions: { uid: pods[1]?.metadata.uid } };
    await world.plane.admin.json({ method: 'DELETE', path, body });
    // Its finalizer holds the pod until its kubelet, which is alone awake here, has told its end.
    const terminated = { exitCode: 137, reason: 'Error', startedAt: null, finishedAt: null };
    const container = { name: CONTAINERS.trainer, image: 'example/image', imageID: '', ready: false, restartCount: 0 };
    await world.plane.admin.json({
      method: 'PATCH',
      path: `${path}/status`,
      body: { status: { phase: 'Failed', containerStatuses: [{ ...container, state: { terminated } }] } },
      contentType: 'application/merge-patch+json',
    });
    const refusal = { code: 'staleEpoch', message: 'attempt 1 has failed' };
    expect(await launcher.received('refused')).toMatchObject(refusal);
    const back = await connect(0);
    back.send({ kind: 'hello' });
    expect(await back.received('refused')).toMatchObject({ code: 'staleEpoch', message: 'attempt 1 is over' });
    world.kubelet.isAwake = true;
    const next = await world.until(job, 'in epoch 2', ({ status }) => status?.epoch === 2);
    expect(next.status?.attempts?.[0]).toMatchObject({ outcome: 'Failed', answer: 'Restart' });
  });
});

interface Credentials {
  readonly token?: string | undefined;
  readonly tokenOf?: number;
  readonly port?: number;
}

interface Launcher {
  readonly socket: WebSocket;
  /** Sends a message and answers with its sequence. */
  send(message: { readonly kind: LauncherMessage['kind'] } & Record<string, unknown>): number;
  received(kind: OperatorMessage['kind']): Promise<OperatorMessage>;
  acknowledged(sequence: number): Promise<void>;
  /** The ranks of that incarnation. */
  assigned(incarnation: number): Promise<RankAssignment>;
  /** Everything that was heard. */
  readonly all: readonly OperatorMessage[];
}

async function connect(podIndex: number, credentials: Credentials = {}): Promise<Launcher> {
  const pod = pods[podIndex];
  if (pod === undefined) throw new Error(`the gang has no pod ${podIndex}`);
  const token =
    'token' in credentials ? credentials.token : await podToken(pods[credentials.tokenOf ?? podIndex] ?? pod);
  const ca = pod.spec.containers[0]?.env.find(({ name }) => name === POD_ENV.reportCa)?.value;
  const received: OperatorMessage[] = [];
  const socket = new WebSocket(`wss://127.0.0.1:${credentials.port ?? operator.reportPort}${REPORT_PATH}`, {
    ...(ca === undefined ? {} : { ca }),
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  open.push(socket);
  socket.on('message', (data: Buffer) => received.push(JSON.parse(data.toString('utf8')) as OperatorMessage));
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const envelope = { podUid: pod.metadata.uid, epoch: 1, rendezvous: null };
  const hello = { jobUid: job.metadata.uid, bootId: 'boot', podIndex, launcherVersion: '0.1.0' };
  return {
    socket,
    send: (message) => {
      sequence += 1;
      const more = message.kind === 'hello' ? hello : message.kind === 'heartbeat' ? { ranks: [] } : {};
      socket.send(JSON.stringify({ ...envelope, sequence, ...more, ...message }));
      return sequence;
    },
    received: (kind) => waitFor(() => received.find((message) => message.kind === kind), { what: `a ${kind} message` }),
    all: received,
    assigned: (incarnation) =>
      waitFor(
        () => {
          const assignments = received.flatMap((one) => (one.kind === 'assignment' ? [one.assignment] : []));
          return assignments.find((one) => one.incarnation === incarnation);
        },
        { what: `the ranks of incarnation ${incarnation}` },
      ),
    acknowledged: async (wanted) => {
      await waitFor(() => received.some((message) => message.kind === 'ack' && message.sequence === wanted), {
        what: `the acknowledgement of ${wanted}`,
      });
    },
  };
}

/** A token as the kubelet projects it into the pod. */
function podToken(pod: RawPod): Promise<string> {
  return requestToken(`/api/v1/namespaces/${namespace}/serviceaccounts/default/token`, {
    audiences: [REPORT_TOKEN_AUDIENCE],
    boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, uid: pod.metadata.uid },
  });
}

function tokenOf(serviceAccount: string): Promise<string> {
  return requestToken(`/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/${serviceAccount}/token`, {
    audiences: [REPORT_TOKEN_AUDIENCE],
  });
}

async function requestToken(path: string, spec: Record<string, unknown>): Promise<string> {
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3600, ...spec },
  };
  return (await world.plane.admin.json<{ status: { token: string } }>({ method: 'POST', path, body })).status.token;
}

/** The first `count` frames of the stream. */
function readSeries(token: string, count: number): Promise<readonly unknown[]> {
  const ca = pods[0]?.spec.containers[0]?.env.find(({ name }) => name === POD_ENV.reportCa)?.value ?? '';
  return new Promise((resolve, reject) => {
    const call = request(
      `https://127.0.0.1:${operator.reportPort}${SERIES_PATH}`,
      { ca, headers: { authorization: `Bearer ${token}` } },
      (response) => {
        let text = '';
        if (response.statusCode !== 200) reject(new Error(String(response.statusCode)));
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString('utf8');
          const lines = text.split('\n').slice(0, -1);
          if (lines.length < count) return;
          resolve(lines.map((line) => JSON.parse(line) as unknown));
          call.destroy();
        });
        response.on('error', () => undefined);
      },
    );
    call.on('error', reject);
    call.end();
  });
}
