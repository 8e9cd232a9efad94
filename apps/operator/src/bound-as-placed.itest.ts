/** Does a gang run where it was placed, or elsewhere as a whole, when a real scheduler binds its pods to simulated nodes? */
import type { AttemptReason } from '@coxswain/api-types';
import { API_GROUP_VERSION, GPU_RESOURCE, LABELS, type Placement, type TrainingJob } from '@coxswain/api-types';
import { startKwok, waitFor, type Kwok } from '@coxswain/local-cluster';
import type { FaultProxy } from '@coxswain/test-harness';
import type { RawPod } from './testing/raw-pod.ts';
import { fewestPlaces, scatteredNodes, topographLabels } from './testing/scattered-nodes.ts';
import { startWorld, type World } from './testing/world.ts';

const GPUS_PER_NODE = 8;
/** No simulated node is ever silent. */
const LEASE_SECONDS = 3_600;

let world: World;
let kwok: Kwok;
beforeAll(async () => {
  world = await startWorld({ simulatesNodes: true });
  kwok = await startKwok({ controlPlane: world.plane, nodes: 0, nodeLeaseDurationSeconds: LEASE_SECONDS });
});
afterAll(async () => {
  await kwok?.stop();
  await world?.stop();
});

const wholeNodes = (pods: number): Record<string, unknown> => ({
  layout: { tensorParallelDegree: GPUS_PER_NODE, dataParallelDegree: pods },
  resources: { gpusPerNode: GPUS_PER_NODE },
});
const isRunningIn =
  (epoch: number) =>
  ({ status }: TrainingJob): boolean =>
    status?.state === 'Running' && status.epoch === epoch;

async function placementOf(job: TrainingJob, epoch: number): Promise<Placement['spec']> {
  const path = `/apis/${API_GROUP_VERSION}/namespaces/${job.metadata.namespace}/placements`;
  const { items } = await world.plane.admin.json<{ items: Placement[] }>({ method: 'GET', path });
  const found = items.find(({ spec }) => spec.jobUid === job.metadata.uid && spec.epoch === epoch);
  if (found === undefined) throw new Error(`job ${job.metadata.name} has no Placement of epoch ${epoch}`);
  return found.spec;
}

const isOver = ({ status }: RawPod): boolean => ['Succeeded', 'Failed'].includes(status.phase);

/** Pods of the job that have not ended. */
async function livePods(job: TrainingJob): Promise<readonly RawPod[]> {
  const pods = await world.pods(job.metadata.namespace ?? '');
  return pods.filter((pod) => pod.metadata.labels?.[LABELS.jobUid] === job.metadata.uid && !isOver(pod));
}

/** The node of each pod, by its index, as the scheduler bound it; all of that attempt. */
async function boundNodes(job: TrainingJob, epoch: number): Promise<readonly (string | undefined)[]> {
  const pods = await livePods(job);
  expect(new Set(pods.map(({ metadata }) => metadata.labels?.[LABELS.epoch]))).toEqual(new Set([String(epoch)]));
  const indexOf = ({ metadata }: RawPod): number => Number(metadata.labels?.[LABELS.podIndex]);
  return pods.toSorted((one, other) => indexOf(one) - indexOf(other)).map(({ spec }) => spec.nodeName);
}

async function expectBoundAsPlaced(job: TrainingJob, epoch: number): Promise<readonly string[]> {
  const { nodes } = await placementOf(job, epoch);
  expect(await boundNodes(job, epoch)).toEqual(nodes);
  return nodes;
}

/** Somebody's pod with GPUs, on that node by its own word. */
async function podOfAnother(namespace: string, name: string, about: { node: string; gpus: number }): Promise<RawPod> {
  const resources = { limits: { [GPU_RESOURCE]: String(about.gpus) } };
  return world.plane.admin.json<RawPod>({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/pods`,
    body: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { nodeName: about.node, containers: [{ name: 'busy', image: 'example/image', resources }] },
    },
  });
}

describe('a gang among eight nodes', () => {
  let batches = 0;
  beforeEach(() => kwok.addNodes({ nodes: 8, namePrefix: `batch-${(batches += 1)}` }));
  afterEach(async () => {
    await world.plane.components.scheduler.start();
    await world.clear();
    await world.plane.kubectl(['delete', 'nodes', '--all']);
  });

  it('of six pods and a competitor alike: one is bound whole, the other has no pod and says why, and runs in its turn', async () => {
    await world.operator();
    const [one, two] = [await world.namespace(), await world.namespace()];
    const jobs = await Promise.all([world.job(one, 'one', wholeNodes(6)), world.job(two, 'two', wholeNodes(6))]);
    const first = await waitFor(
      async () => {
        const seen = await Promise.all(
          jobs.map(({ metadata }) => world.readJob(metadata.namespace ?? '', metadata.name)),
        );
        return seen.find(isRunningIn(1));
      },
      { what: 'one of the two to run' },
    );
    const [second] = jobs.filter(({ metadata }) => metadata.uid !== first.metadata.uid);
    if (second === undefined) throw new Error('there are two jobs');
    await expectBoundAsPlaced(first, 1);
    const waits = await world.until(second, 'waiting', ({ status }) =>
      (status?.conditions ?? []).some(({ type, reason }) => type === 'Placed' && reason === 'WaitingForCapacity'),
    );
    const { message } = waits.status?.conditions?.find(({ type }) => type === 'Placed') ?? {};
    expect(message).toMatch(/Needs 48 GPUs/);
    expect(await world.pods(second.metadata.namespace ?? '')).toEqual([]);

    const { namespace = '' } = first.metadata;
    await world.plane.kubectl(['-n', namespace, 'annotate', 'pods', '--all', 'kwok.coxswain.dev/runs-for=0s']);
    await world.until(first, 'complete', ({ status }) => status?.state === 'Complete');
    const ran = await world.until(second, 'running in its turn', isRunningIn(1));
    await expectBoundAsPlaced(second, 1);
    expect(ran.status?.restarts).toEqual({ total: 0, charged: 0 });
  });

  const moments: readonly {
    readonly when: string;
    readonly hold: (path: FaultProxy) => Promise<Held>;
    /** Why the attempt ends from which a stranger took a GPU then. */
    readonly robbed: AttemptReason;
  }[] = [
    { when: 'before its first pod is made', hold: holdPods, robbed: 'PlacementLost' },
    { when: 'after its gates were lifted', hold: stopScheduler, robbed: 'NotScheduled' },
  ];

  it.each(moments)('that loses a node $when runs whole on others, uncharged', async ({ hold }) => {
    const { job, nodes, goOn } = await placedGang(hold);
    const [lost = ''] = nodes;
    await world.plane.kubectl(['delete', 'node', lost]);
    await goOn();
    const again = await world.until(job, 'running elsewhere', isRunningIn(2));
    expect(again.status).toMatchObject({
      attempts: [{ epoch: 1, outcome: 'Failed', reason: 'NodeLost', charged: false }, { epoch: 2 }],
      restarts: { total: 1, charged: 0 },
    });
    expect(await expectBoundAsPlaced(job, 2)).not.toContain(lost);
  });

  it.each(moments)(
    'of whose GPUs a stranger takes one $when runs whole on others, uncharged, and leaves the stranger alone',
    async ({ hold, robbed }) => {
      const { job, nodes, goOn } = await placedGang(hold);
      const [node = ''] = nodes;
      const othersNamespace = await world.namespace();
      const stranger = await podOfAnother(othersNamespace, 'stranger', { node, gpus: 1 });
      await goOn();
      const again = await world.until(job, 'running elsewhere', isRunningIn(2));
      expect(again.status).toMatchObject({
        attempts: [{ epoch: 1, outcome: 'Failed', reason: robbed, charged: false }, { epoch: 2 }],
        restarts: { total: 1, charged: 0 },
      });
      expect(await expectBoundAsPlaced(job, 2)).not.toContain(node);
      const [left] = await world.pods(othersNamespace);
      expect([left?.metadata.uid, left?.metadata.deletionTimestamp, left?.status.phase]).toEqual([
        stranger.metadata.uid,
        undefined,
        'Running',
      ]);
    },
  );
});

/** Something between placement and binding that does not go on by itself. */
interface Held {
  /** Resolves when the gang of the job has come so far. */
  reachedBy(job: TrainingJob): Promise<unknown>;
  goOn(): Promise<void>;
}

/** A gang of four that is placed, and goes no further before `goOn`. */
async function placedGang(hold: (path: FaultProxy) => Promise<Held>): Promise<{
  readonly job: TrainingJob;
  readonly nodes: readonly string[];
  readonly goOn: () => Promise<void>;
}> {
  const path = await world.faultProxy();
  const held = await hold(path);
  await world.operator({ apiserverUrl: path.url });
  const job = await world.job(await world.namespace(), 'gang', wholeNodes(4));
  await held.reachedBy(job);
  const { nodes } = await placementOf(job, 1);
  return { job, nodes, goOn: () => held.goOn() };
}

/** Creates of pods wait on their way. */
async function holdPods(path: FaultProxy): Promise<Held> {
  const arrived = Promise.withResolvers<undefined>();
  const gate = Promise.withResolvers<undefined>();
  path.onWrite(async ({ stage, verb, path: place }) => {
    if (stage !== 'beforeSend' || verb !== 'create' || !place.endsWith('/pods')) return;
    arrived.resolve(undefined);
    await gate.promise;
  });
  return { reachedBy: () => arrived.promise, goOn: async () => gate.resolve(undefined) };
}

async function stopScheduler(): Promise<Held> {
  const { scheduler } = world.plane.components;
  await scheduler.kill();
  const isUngated = ({ spec }: RawPod): boolean => (spec.schedulingGates ?? []).length === 0;
  const areUngated = async (job: TrainingJob): Promise<boolean> => {
    const pods = await livePods(job);
    return pods.length === 4 && pods.every(isUngated);
  };
  return {
    reachedBy: (job) => waitFor(() => areUngated(job), { what: 'the gates to be lifted' }),
    goOn: () => scheduler.start(),
  };
}

/** At the full size of 1,000 nodes: `npm run gang:bench -- scattered`. Names of nodes are made of an index that was dealt a place. */
const SCATTER = { blocks: 4, seed: 1 } as const;
const PODS = 64;
const LEAST = { blocks: 2, racks: 12 } as const;

describe('a gang of 64 nodes among 400 of which 240 are taken here and there', () => {
  it('gets the fewest racks of the fewest blocks, though no name tells of them, and is bound there', async () => {
    const nodes = scatteredNodes(SCATTER);
    const free = nodes.filter(({ isTaken }) => !isTaken).map(({ place }) => place);
    expect(fewestPlaces(free, PODS)).toEqual(LEAST);
    const placeOf = (index: number): Readonly<Record<string, string>> => {
      const place = nodes[index]?.place;
      return place === undefined ? {} : topographLabels(place);
    };
    await kwok.addNodes({ nodes: nodes.length, namePrefix: 'node', labels: placeOf });
    const names = kwok.nodeNames.filter((name) => name.startsWith('node-'));
    const othersNamespace = await world.namespace();
    const taken = names.filter((_, index) => nodes[index]?.isTaken);
    const turns = taken.values();
    const work = async (): Promise<void> => {
      for (const node of turns) await podOfAnother(othersNamespace, `on-${node}`, { node, gpus: GPUS_PER_NODE });
    };
    await Promise.all(Array.from({ length: 16 }, work));

    await world.operator();
    const job = await world.job(await world.namespace(), 'gang', wholeNodes(PODS));
    await world.until(job, 'running', isRunningIn(1));
    const places = (await expectBoundAsPlaced(job, 1)).map((name) => nodes[names.indexOf(name)]?.place);
    const count = (key: 'rack' | 'block'): number => new Set(places.map((place) => place?.[key])).size;
    expect({ blocks: count('block'), racks: count('rack') }).toEqual(LEAST);
  });
});
