import { type TrainingJob } from '@coxswain/api-types';
import { sharedWorld } from './testing/shared-world.ts';
import type { World } from './testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
  await Promise.all([
    priorityClass('room-high', 100),
    priorityClass('room-low', 1),
    priorityClass('room-polite', 50, 'Never'),
  ]);
  await world.node('room', 2);
});
afterEach(() => world.clear());
afterAll(async () => {
  await world.plane.kubectl(['delete', 'priorityclass', 'room-high', 'room-low', 'room-polite']);
  await world.stop();
});

async function priorityClass(name: string, value: number, preemptionPolicy = 'PreemptLowerPriority'): Promise<void> {
  const path = '/apis/scheduling.k8s.io/v1/priorityclasses';
  const metadata = { name };
  const body = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata, value, preemptionPolicy };
  await world.plane.admin.send({ method: 'POST', path, body });
}

/** Jobs have no protected time: the made-up ones are seconds old. */
const environment = {
  COXSWAIN_MAKE_ROOM: 'true',
  COXSWAIN_MAKE_ROOM_PROTECTED_MS: '1',
  COXSWAIN_MAKE_ROOM_PROTECTED_STARTS: '0',
};
const onTheNode = (priorityClassName: string): Parameters<World['job']>[2] => ({
  layout: { tensorParallelDegree: 2 },
  resources: { gpusPerNode: 2 },
  terminationGracePeriodSeconds: 2,
  priorityClassName,
});
const isRunning = ({ status }: TrainingJob): boolean => status?.state === 'Running';

describe('a job of high priority on a full cluster', () => {
  it('starts on the nodes of a job of low priority, which goes on when the other one is gone', async () => {
    await world.operator({ environment });
    const namespace = await world.namespace();
    const low = await world.job(namespace, 'low', onTheNode('room-low'));
    await world.until(low, 'running', isRunning);
    const polite = await world.job(namespace, 'polite', onTheNode('room-polite'));
    await world.until(polite, 'waiting', ({ status }) => status?.state === 'Queued');
    const high = await world.job(namespace, 'high', onTheNode('room-high'));
    const started = await world.until(high, 'running', isRunning);
    expect(started.status).not.toHaveProperty('claim');
    expect((await world.readJob(namespace, 'low')).status).toMatchObject({
      restarts: { total: 0, charged: 0 },
      attempts: [{ outcome: 'Moved', reason: 'MadeRoom', forClaim: { name: 'high', uid: high.metadata.uid } }],
    });
    expect((await world.readJob(namespace, 'polite')).status).not.toHaveProperty('claim');
    await world.plane.kubectl(['-n', namespace, 'delete', 'tjob', 'polite', 'high', '--wait=false']);
    const back = await world.until(low, 'running again', isRunning);
    expect(back.status?.attempts).toHaveLength(2);
  });

  it('starts there although the operator is killed after it has recorded the claim', async () => {
    const namespace = await world.namespace();
    const path = await world.faultProxy();
    const first = await world.operatorProcess({ environment, apiserverUrl: path.url });
    const low = await world.job(namespace, 'low', onTheNode('room-low'));
    await world.until(low, 'running', isRunning);
    const recorded = Promise.withResolvers<undefined>();
    path.onWrite(async ({ stage, body }) => {
      if (stage === 'beforeSend' && body.includes('"state":"Asking"')) {
        recorded.resolve(undefined);
        await first.exited;
      }
    });
    const high = await world.job(namespace, 'high', onTheNode('room-high'));
    await recorded.promise;
    await first.kill();
    // The write that was on its way may arrive or not.
    expect((await world.readJob(namespace, 'high')).status?.claim?.state).toMatch(/^(Recorded|Asking)$/);
    await world.operator({ environment });
    await world.until(high, 'running', isRunning);
    expect((await world.readJob(namespace, 'low')).status?.attempts).toMatchObject([{ reason: 'MadeRoom' }]);
  });
});
