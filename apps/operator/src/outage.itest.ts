import { setTimeout as delay } from 'node:timers/promises';
import type { TrainingJob } from '@coxswain/api-types';
import { pictureOf, sitOutOutage, untilNodes } from './testing/outage.ts';
import { startWorld, type World } from './testing/world.ts';

const NODES = ['node-a', 'node-b', 'node-c', 'node-d'] as const;
/** Beyond the 5 s after which pods of this world that tolerate nothing are evicted. */
const EVICTION_MS = 8_000;

let world: World;
beforeAll(async () => {
  world = await startWorld({ judgesNodes: true });
  await Promise.all(NODES.map((name) => world.node(name, 2)));
});
afterAll(() => world.stop());
afterEach(async () => {
  world.heartbeats.silent.clear();
  await untilNodes(world, NODES, 'ready');
  await world.clear();
});

async function aRunningGang(name: string, environment: Record<string, string>): Promise<TrainingJob> {
  await world.operator({ environment });
  const job = await world.job(await world.namespace(), name);
  return world.until(job, 'running', ({ status }) => status?.state === 'Running');
}
const runningReason = (job: TrainingJob): string | undefined =>
  job.status?.conditions?.find(({ type }) => type === 'Running')?.reason;

describe('a gang in a cluster whose controllers judge nodes', () => {
  it('stays when a kubelet is away for less than the grace: neither the operator nor the node controller ends it', async () => {
    const job = await aRunningGang('patient', { COXSWAIN_NODE_GRACE_MS: '60000' });
    const before = await pictureOf(world, job);
    const node = (await world.pods(job.metadata.namespace ?? ''))[0]?.spec.nodeName ?? '';
    world.heartbeats.silent.add(node);
    world.kubelet.lostNodes.add(node);
    await untilNodes(world, [node], 'notReady');
    await world.until(job, 'told about', (one) => runningReason(one) === 'NodesInDoubt');
    await delay(EVICTION_MS);
    expect(await pictureOf(world, job)).toEqual(before);
    world.heartbeats.silent.clear();
    world.kubelet.lostNodes.clear();
    await world.until(job, 'trusted again', (one) => runningReason(one) === 'GangRunning');
    expect(await pictureOf(world, job)).toEqual(before);
  });

  it('stays when no kubelet reaches the API server for longer than the grace, and says what that means', async () => {
    const job = await aRunningGang('cut-off', { COXSWAIN_NODE_GRACE_MS: '5000' });
    const before = await pictureOf(world, job);
    for (const name of NODES) world.heartbeats.silent.add(name);
    await untilNodes(world, NODES, 'notReady');
    await delay(5_000 + EVICTION_MS);
    const held = await world.readJob(job.metadata.namespace ?? '', job.metadata.name);
    expect(held.status?.summary).toContain('the connection to the API server is the likelier cause');
    expect(await pictureOf(world, job)).toEqual(before);
  });

  it('goes on through an outage of the API server and of its operator, and is charged nothing', async () => {
    const job = await aRunningGang('unmoved', { COXSWAIN_NODE_GRACE_MS: '20000' });
    const before = await pictureOf(world, job);
    await sitOutOutage(world, { nodes: NODES, outageMs: 20_000, afterMs: 0 });
    // Its term ended meanwhile; its Deployment would start it again.
    await world.operator({ identity: 'next', environment: { COXSWAIN_NODE_GRACE_MS: '20000' } });
    await delay(EVICTION_MS);
    expect(await pictureOf(world, job)).toEqual(before);
  });
});
