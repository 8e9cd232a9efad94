import { LABELS, isTrue, type Placement } from '@coxswain/api-types';
import { waitFor } from '@coxswain/test-harness';
import { startWorld, type World } from './testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
  await Promise.all(['node-a', 'node-b'].map((name) => world.node(name, 2)));
}, 120_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => {
  world.kubelet.isAwake = true;
  world.kubelet.fateOf = () => ({ kind: 'runs' });
});

describe('the operator', () => {
  it('takes a job from its creation to its end: placed, gated, released together, running, complete', async () => {
    world.kubelet.isAwake = false;
    const operator = await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'tiny');

    const released = await world.until(job, 'released', ({ status }) => status?.attempts?.[0]?.stage === 'Released');
    const pods = await world.pods(namespace);
    expect(pods.map(({ metadata }) => metadata.name).toSorted()).toEqual(
      [0, 1].map((index) => `tiny-${job.metadata.uid.slice(0, 8)}-e1-${index}`),
    );
    const path = `/apis/training.coxswain.dev/v1alpha1/namespaces/${namespace}/placements`;
    const { items } = await world.plane.admin.json<{ items: Placement[] }>({ method: 'GET', path });
    const nodes = items[0]?.spec.nodes ?? [];
    expect(nodes.toSorted()).toEqual(['node-a', 'node-b']);
    expect(isTrue(released.status?.conditions, 'Placed')).toBe(true);

    await waitFor(async () => (await world.pods(namespace)).every(({ spec }) => spec.nodeName !== undefined), {
      deadlineMs: 10_000,
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
    await operator.stop();
  }, 60_000);
});
