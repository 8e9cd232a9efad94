import { API_GROUP_VERSION, LABELS, type TrainingJob } from '@coxswain/api-types';
import type { FaultAction, FaultProxy, RecordedWrite } from '@coxswain/test-harness';
import { waitFor } from '@coxswain/local-cluster';
import { setTimeout as delay } from 'node:timers/promises';
import { auditGangs } from './testing/kill-points.ts';
import type { Operator } from './operator.ts';
import { sharedWorld } from './testing/shared-world.ts';
import type { World } from './testing/world.ts';

interface WatchEvent {
  readonly type: string;
  readonly object: {
    readonly metadata: { readonly name: string };
    readonly spec?: { readonly suspend?: boolean };
    readonly status?: { readonly phase?: string };
  };
}

/** What the operator is allowed to see of one kind: nothing before a moment, and never what is lost. */
class Blinkers {
  loses: (event: WatchEvent) => boolean = () => false;
  #closedUntilMs = 0;
  #opening = Promise.withResolvers<void>();

  constructor() {
    this.open();
  }

  closeFor(ms: number): void {
    this.#closedUntilMs = Date.now() + ms;
  }

  /** Until `open` is called. */
  close(): void {
    this.#opening = Promise.withResolvers<void>();
  }

  open(): void {
    this.#opening.resolve();
  }

  get action(): FaultAction {
    return {
      kind: 'watch',
      script: () => (line) => {
        if (this.loses(JSON.parse(line) as WatchEvent)) return [];
        const waitMs = this.#closedUntilMs - Date.now();
        return [{ waitMs: Math.max(0, waitMs) }, { until: this.#opening.promise }, { send: line }];
      },
    };
  }
}

const jobsSeen = new Blinkers();
const podsSeen = new Blinkers();
const broken = new Set<string>();
let world: World;
let proxy: FaultProxy;
let namespace: string;
let leader: Operator;
beforeAll(async () => {
  world = await sharedWorld();
  await Promise.all(['node-a', 'node-b'].map((name) => world.node(name, 2)));
  proxy = await world.faultProxy();
  proxy.add({ match: { path: `/apis/${API_GROUP_VERSION}/trainingjobs` }, action: jobsSeen.action });
  proxy.add({ match: { path: '/api/v1/pods' }, action: podsSeen.action });
  namespace = await world.namespace();
  world.kubelet.onLook = (pods) => auditGangs(pods, broken);
  leader = await world.operator({ apiserverUrl: proxy.url });
});
afterAll(() => world.stop());

beforeEach(() => {
  proxy.clearRecords();
  broken.clear();
  world.kubelet.fateOf = () => ({ kind: 'runs' });
  jobsSeen.loses = podsSeen.loses = () => false;
});
afterEach(async () => {
  jobsSeen.open();
  podsSeen.open();
  expect([...broken]).toEqual([]);
  expect(deletesWithoutUid()).toEqual([]);
  world.kubelet.lostNodes.clear();
  await world.plane.kubectl(['delete', 'trainingjobs', '--all', '-n', namespace, '--wait=true', '--timeout=120s']);
  await world.plane.kubectl(['delete', 'pods', '--all', '-n', namespace, '--grace-period=0', '--force']);
});

const isRunning = ({ status }: TrainingJob): boolean => status?.state === 'Running';
const isRunningIn =
  (epoch: number) =>
  (job: TrainingJob): boolean =>
    isRunning(job) && job.status?.epoch === epoch;

describe('an operator whose view of the cluster is late or has holes', () => {
  it('makes nothing twice while it does not see its own pods, however often it looks (C3)', async () => {
    podsSeen.close();
    const job = await world.job(namespace, 'unseen');
    await world.until(job, 'released', ({ status }) => status?.attempts?.[0]?.stage === 'Released');
    for (let turn = 0; turn < 100; turn += 1) await annotate(job, String(turn));
    podsSeen.open();
    const runs = await world.until(job, 'running', isRunning);
    expect(runs.status).toMatchObject({ epoch: 1, attempts: [{ epoch: 1 }] });
    expect(
      writesTo('/pods')
        .map(({ verb, status }) => `${verb} ${status}`)
        .toSorted(),
    ).toEqual(['create 201', 'create 201', 'patch 200', 'patch 200']);
  });

  it('takes nothing for gone or failed while pods are seen 10 s after jobs, nor jobs 10 s after pods (C4)', async () => {
    podsSeen.closeFor(10_000);
    const job = await world.job(namespace, 'squinting');
    const runs = await world.until(job, 'running', isRunning);
    expect(runs.status).toMatchObject({ epoch: 1, restarts: { total: 0 } });
    expect(writesTo('/pods').filter(({ verb }) => verb === 'delete')).toEqual([]);

    jobsSeen.closeFor(10_000);
    world.kubelet.fateOf = ({ epoch, podIndex }) =>
      epoch === 1 && podIndex === 1 ? { kind: 'exits', code: 1 } : { kind: 'runs' };
    const again = await world.until(job, 'running again', isRunningIn(2));
    await patch(job, { suspend: true });
    const suspended = await world.until(job, 'suspended', ({ status }) => status?.state === 'Suspended');
    expect(again.status?.restarts).toEqual({ total: 1, charged: 1 });
    expect(suspended.status?.attempts?.map(({ outcome }) => outcome)).toEqual(['Failed', 'Suspended']);
    expect(writesTo('/pods').filter(({ verb }) => verb === 'create')).toHaveLength(4);
  });

  it('ends the same when it misses what was undone before it looked (C6)', async () => {
    podsSeen.loses = ({ type, object }) => type !== 'DELETED' && object.status?.phase === 'Pending';
    jobsSeen.loses = ({ object }) => object.spec?.suspend === true;
    const job = await world.job(namespace, 'inattentive');
    await world.until(job, 'running', isRunning);
    await patch(job, { suspend: true });
    await patch(job, { suspend: false });
    world.kubelet.fateOf = () => ({ kind: 'exits', code: 0 });
    const done = await world.until(job, 'complete', ({ status }) => status?.state === 'Complete');
    expect(done.status).toMatchObject({ epoch: 1, attempts: [{ outcome: 'Succeeded' }], restarts: { total: 0 } });
  });

  it('ends well although nobody saw it run (C6)', async () => {
    podsSeen.loses = ({ type, object }) =>
      type !== 'DELETED' && ['Pending', 'Running'].includes(object.status?.phase ?? 'Pending');
    world.kubelet.fateOf = () => ({ kind: 'exits', code: 0 });
    const job = await world.job(namespace, 'unwatched');
    const done = await world.until(job, 'complete', ({ status }) => status?.state === 'Complete');
    expect(done.status).toMatchObject({ epoch: 1, attempts: [{ outcome: 'Succeeded' }], restarts: { total: 0 } });
  });

  it('does not take a new job of an old name for the old one, though it never saw the old one go (C7)', async () => {
    const old = await world.job(namespace, 'phoenix');
    await world.until(old, 'running', isRunning);
    const before = await world.pods(namespace);
    jobsSeen.loses = ({ type }) => type === 'DELETED';
    jobsSeen.close();
    await patch(old, undefined, { finalizers: null });
    await world.plane.kubectl(['delete', 'trainingjob', '-n', namespace, 'phoenix', '--cascade=orphan']);
    const young = await world.job(namespace, 'phoenix');
    jobsSeen.open();
    for (const { metadata } of before) await remove(metadata.name, metadata.uid);
    const runs = await world.until(young, 'running', isRunning);
    expect(runs.metadata.uid).not.toBe(old.metadata.uid);
    expect(runs.status).toMatchObject({ epoch: 1, restarts: { total: 0 }, attempts: [{ epoch: 1 }] });
    const uids = (await world.pods(namespace)).map(({ metadata }) => metadata.labels?.[LABELS.jobUid]);
    expect(uids).toEqual([young.metadata.uid, young.metadata.uid]);
  });

  it('neither adopts nor deletes a stranger’s pod that took the name of one of its own unseen (C7)', async () => {
    const job = await world.job(namespace, 'robbed');
    await world.until(job, 'running', isRunning);
    const [mine] = await world.pods(namespace);
    podsSeen.loses = ({ type, object }) => type === 'DELETED' && object.metadata.name === mine?.metadata.name;
    podsSeen.close();
    await remove(mine?.metadata.name ?? '', mine?.metadata.uid ?? '');
    const stranger = await world.plane.admin.json<{ metadata: { uid: string } }>({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/pods`,
      body: {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: mine?.metadata.name },
        spec: { containers: [{ name: 'other', image: 'example/image' }], nodeName: 'node-a' },
      },
    });
    podsSeen.open();
    const again = await world.until(job, 'running again', (now) => isRunning(now) && now.status?.epoch === 2);
    expect(again.status?.attempts?.[0]).toMatchObject({ reason: 'PodLost' });
    const left = await waitFor(
      async () => {
        const pods = (await world.pods(namespace)).filter(({ metadata }) => metadata.labels?.[LABELS.epoch] !== '2');
        return pods.length === 1 ? pods : undefined;
      },
      { what: 'the ended pod to be let go of' },
    );
    expect(left.map(({ metadata }) => metadata.uid)).toEqual([stranger.metadata.uid]);
  });

  it('starts no new gang beside a pod that is still going away, also when it sees that late (C8)', async () => {
    const job = await world.job(namespace, 'lingering');
    await world.until(job, 'running', isRunning);
    const survivor = (await world.pods(namespace)).find(({ metadata }) => metadata.labels?.[LABELS.podIndex] === '0');
    world.kubelet.lostNodes.add(survivor?.spec.nodeName ?? '');
    world.kubelet.fateOf = ({ epoch, podIndex }) =>
      epoch === 1 && podIndex === 1 ? { kind: 'exits', code: 1 } : { kind: 'runs' };
    await world.until(job, 'stopping', ({ status }) => status?.attempts?.[0]?.stage === 'Stopping');
    podsSeen.closeFor(2_000);
    // The pod outlives its grace by seconds: whatever the operator does in this time, it may not begin attempt 2.
    await delay(4_000);
    const still = await world.readJob(namespace, 'lingering');
    expect(still.status).toMatchObject({ epoch: 1, attempts: [{ stage: 'Stopping' }] });
    expect((await world.pods(namespace)).map(({ metadata }) => metadata.labels?.[LABELS.epoch])).toEqual(['1', '1']);
    world.kubelet.lostNodes.clear();
    await world.until(job, 'running again', isRunningIn(2));
  });
});

describe('a follower that begins to lead with an old view', () => {
  it('touches no pod of an epoch that its watch of jobs has not shown it (C1)', async () => {
    const others = new Blinkers();
    const ownProxy = await world.faultProxy();
    // The watch alone stands still, as behind a load balancer that forgot the connection; whoever lists anew sees the truth.
    ownProxy.add({
      match: {
        path: `/apis/${API_GROUP_VERSION}/trainingjobs`,
        where: ({ query }) => query.get('sendInitialEvents') === null,
      },
      action: others.action,
    });
    const follower = await world.operator({ identity: 'follower', apiserverUrl: ownProxy.url });
    const job = await world.job(namespace, 'inherited');
    await world.until(job, 'running', isRunning);
    others.close();
    try {
      world.kubelet.fateOf = ({ epoch, podIndex }) =>
        epoch === 1 && podIndex === 1 ? { kind: 'exits', code: 1 } : { kind: 'runs' };
      await world.until(job, 'running again', isRunningIn(2));
      const before = (await world.pods(namespace)).map(({ metadata }) => metadata.uid).toSorted();
      ownProxy.clearRecords();
      await leader.stop();
      await waitFor(() => follower.isLeader(), { what: 'the follower to lead' });
      world.kubelet.fateOf = () => ({ kind: 'exits', code: 0 });
      const done = await world.until(job, 'complete', ({ status }) => status?.state === 'Complete');
      expect(done.status).toMatchObject({ epoch: 2, restarts: { total: 1, charged: 1 } });
      expect((await world.pods(namespace)).map(({ metadata }) => metadata.uid).toSorted()).toEqual(before);
      expect(ownProxy.writes.filter(({ verb, path }) => verb === 'delete' && path.includes('/pods/'))).toEqual([]);
    } finally {
      others.open();
    }
  });
});

function writesTo(collection: string): readonly RecordedWrite[] {
  return proxy.writes.filter(({ path }) => path.includes(`/namespaces/${namespace}${collection}`));
}

function deletesWithoutUid(): readonly string[] {
  return proxy.writes
    .filter(({ verb }) => verb === 'delete')
    .filter(({ body }) => (JSON.parse(body) as { preconditions?: { uid?: string } }).preconditions?.uid === undefined)
    .map(({ path }) => path);
}

async function patch(
  job: TrainingJob,
  spec: Record<string, unknown> | undefined,
  metadata?: Record<string, unknown>,
): Promise<void> {
  await world.plane.admin.json({
    method: 'PATCH',
    path: `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/trainingjobs/${job.metadata.name}`,
    body: { ...(spec === undefined ? {} : { spec }), ...(metadata === undefined ? {} : { metadata }) },
    contentType: 'application/merge-patch+json',
  });
}

function annotate(job: TrainingJob, value: string): Promise<void> {
  return patch(job, undefined, { annotations: { turn: value } });
}

/** With all that holds it. */
async function remove(name: string, uid: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const body = { metadata: { uid, finalizers: null } };
  await world.plane.admin.send({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
  await world.plane.admin.send({ method: 'DELETE', path, body: { gracePeriodSeconds: 0, preconditions: { uid } } });
}
