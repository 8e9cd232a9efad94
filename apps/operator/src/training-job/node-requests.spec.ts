import type { Condition, TrainingJob } from '@coxswain/api-types';
import { aJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { FakeClock, FakeKubeApi } from '@coxswain/kube/testing';
import type { ClusterScheduler } from '@coxswain/scheduling';
import { podTemplatesPath, provisioningRequestsPath, trainingJobsPath } from '../cluster/paths.ts';
import { NodeRequests } from './node-requests.ts';

type Asking = ReturnType<ClusterScheduler['waitingJobs']>[number];
type Requested = KubeObject & {
  readonly spec: {
    readonly provisioningClassName: string;
    readonly podSets: readonly { readonly podTemplateRef: { readonly name: string }; readonly count: number }[];
  };
};

const NAMESPACE = 'research';
const REQUESTS = provisioningRequestsPath({ namespace: NAMESPACE });
const layout = { ...aJobSpec().layout, tensorParallelDegree: 4, dataParallelDegree: 5 } as NonNullable<
  Asking['request']
>['layout'];

function waiting(name: string, epoch = 0, reason = 'WaitingForCapacity'): TrainingJob {
  const at = '2026-01-01T00:00:00Z';
  const placed: Condition = {
    type: 'Placed',
    status: 'False',
    reason,
    message: 'm',
    observedGeneration: 1,
    lastTransitionTime: at,
  };
  const status = { epoch, restarts: { total: 0, charged: 0 }, conditions: [placed] };
  return aTrainingJob({ metadata: { name, namespace: NAMESPACE, uid: `00000000-uid-of-${name}` }, status });
}

class World {
  readonly api: FakeKubeApi;
  readonly clock = new FakeClock();
  readonly news: string[] = [];
  readonly errors: unknown[] = [];
  asking: readonly Asking[] = [];
  readonly requests: NodeRequests;

  constructor(className: string | null = 'check-capacity.autoscaling.x-k8s.io', api = new FakeKubeApi()) {
    this.api = api;
    this.requests = new NodeRequests({
      client: this.api,
      scheduler: { waitingJobs: () => this.asking },
      clock: this.clock,
      className: className ?? undefined,
      onNews: (key) => this.news.push(key),
      onError: (error) => this.errors.push(error),
    });
  }

  /** Another leader takes over. */
  successor(className?: string | null): World {
    return new World(className, this.api);
  }

  pool = 'h100';
  layout = layout;

  async reconcileJobs(...jobs: readonly TrainingJob[]): Promise<void> {
    const demand = { nodeSelector: { pool: this.pool }, tolerations: [], devices: { 'rdma/ib': 1 } };
    this.asking = jobs.map((job) => ({ job, since: '', request: { layout: this.layout, gpusPerNode: 8, demand } }));
    await this.requests.reconcile();
  }

  get made(): readonly Requested[] {
    return this.api.objects<Requested>(REQUESTS);
  }

  stateText(name = 'a'): string | undefined {
    const stateText = this.requests.stateOf(`00000000-uid-of-${name}`);
    return stateText && `${stateText.holds}/${stateText.reason}: ${stateText.message}`;
  }

  /** The autoscaler says so. */
  async condition(type: string, message: string): Promise<void> {
    const [request] = this.made;
    const conditions = [{ type, status: 'True', reason: 'R', message }];
    const path = `${REQUESTS}/${request?.metadata.name}`;
    await this.api.replace(path, { ...request, status: { conditions } } as never, { subresource: 'status' });
  }
}

const fails = (status: number, message: string) => (about: { readonly path: string }) => {
  if (about.path.includes('provisioningrequests'))
    throw new KubeApiError({ status, message, method: 'GET', path: about.path } as never);
};

describe('nodes that do not exist yet', () => {
  it('are asked for once, for the whole gang, by a request that goes with the job', async () => {
    const world = new World();
    await world.reconcileJobs(waiting('a'));
    await world.reconcileJobs(waiting('a'));
    const [request] = world.made;
    expect([world.made.length, world.errors]).toEqual([1, []]);
    expect(request?.metadata.name).toMatch(/^a-00000000-e1$/);
    expect(request?.metadata.ownerReferences).toMatchObject([{ kind: 'TrainingJob', name: 'a' }]);
    expect(request?.spec).toEqual({
      provisioningClassName: 'check-capacity.autoscaling.x-k8s.io',
      podSets: [
        { podTemplateRef: { name: request?.metadata.name }, count: 2 },
        { podTemplateRef: { name: `${request?.metadata.name}-last` }, count: 1 },
      ],
    });
    const templates = world.api.objects<KubeObject & { template: { spec: Record<string, unknown> } }>(
      podTemplatesPath({ namespace: NAMESPACE }),
    );
    expect(templates.map(({ template }) => template.spec)).toMatchObject([
      {
        nodeSelector: { pool: 'h100' },
        containers: [{ resources: { limits: { 'nvidia.com/gpu': '8', 'rdma/ib': '1' } } }],
      },
      { containers: [{ resources: { limits: { 'nvidia.com/gpu': '4' } } }] },
    ]);
    expect(world.stateText()).toBe(
      'true/Requested: ProvisioningRequest a-00000000-e1 requests nodes for the whole gang.',
    );
    expect(world.news).toEqual(['research/a']);
  });

  it.each([
    ['it has begun', () => []],
    ['it waits for something else', () => [waiting('a', 0, 'Planning')]],
  ])('are asked for no more by a job when %s', async (_when, jobs) => {
    const world = new World();
    await world.reconcileJobs(waiting('a'));
    await world.reconcileJobs(waiting('a'));
    await world.reconcileJobs(...jobs());
    expect([world.made, world.stateText()]).toEqual([[], undefined]);
  });

  it('are asked for anew by the next attempt', async () => {
    const world = new World();
    for (const epoch of [0, 0, 4, 4]) await world.reconcileJobs(waiting('a', epoch));
    expect(world.made.map(({ metadata }) => metadata.name)).toEqual(['a-00000000-e5']);
  });

  it.each([
    [
      'Provisioned',
      'Capacity is found.',
      'true/Provisioned: ProvisioningRequest a-00000000-e1: Provisioned, Capacity is found.',
    ],
    ['Failed', 'No quota.', 'false/Failed: ProvisioningRequest a-00000000-e1: Failed, No quota.'],
    ['Accepted', 'ok', 'true/Requested: ProvisioningRequest a-00000000-e1 requests nodes for the whole gang.'],
  ])('are told of as the autoscaler does: %s', async (type, message, want) => {
    const world = new World();
    await world.reconcileJobs(waiting('a'));
    await world.condition(type, message);
    await world.reconcileJobs(waiting('a'));
    expect(world.stateText()).toBe(want);
  });

  it('are asked for again ten minutes after a request has failed, since it has one shot', async () => {
    const world = new World();
    await world.reconcileJobs(waiting('a'));
    await world.condition('Failed', 'No quota.');
    await world.reconcileJobs(waiting('a'));
    const first = world.made[0]?.metadata.uid;
    await world.clock.advance(599_999);
    await world.reconcileJobs(waiting('a'));
    expect(world.made[0]?.metadata.uid).toBe(first);
    await world.clock.advance(1);
    await world.reconcileJobs(waiting('a'));
    await world.reconcileJobs(waiting('a'));
    expect(world.made).toHaveLength(1);
    expect(world.made[0]?.metadata.uid).not.toBe(first);
    expect(world.stateText()).toMatch(/^true\/Requested/);
  });

  it.each<[string, World, (world: World) => void, RegExp]>([
    [
      'the cluster serves no such kind',
      new World(),
      (world) => (world.api.interfere = fails(404, '404 page not found')),
      /^false\/NotServed: No nodes are requested: the cluster does not serve ProvisioningRequests .* Gated pods/,
    ],
    ['the operator was told to ask for none', new World(null), () => undefined, /^false\/TurnedOff: /],
    [
      'the cluster refuses it',
      new World(),
      (world) => (world.api.interfere = fails(422, 'exceeds the quota')),
      /^false\/Refused: .*exceeds the quota/,
    ],
  ])('are not asked for where %s, and every job says so', async (_why, world, arrange, want) => {
    arrange(world);
    const jobs = Array.from({ length: 70 }, (_, index) => waiting(`job-${index}`));
    await world.reconcileJobs(...jobs);
    expect([world.stateText('job-0'), world.errors]).toEqual([expect.stringMatching(want), []]);
    if (!want.source.includes('Refused')) expect(world.stateText('job-69')).toMatch(want);
  });

  it('are asked for once the kind is served, which is looked at every five minutes', async () => {
    const world = new World();
    world.api.interfere = fails(404, '404 page not found');
    await world.reconcileJobs(waiting('a'));
    world.api.interfere = () => undefined;
    await world.reconcileJobs(waiting('a'));
    expect(world.made).toEqual([]);
    await world.clock.advance(300_000);
    await world.reconcileJobs(waiting('a'));
    expect(world.made).toHaveLength(1);
  });

  it('are asked for by 64 jobs at a time, and one that fails hurts no other', async () => {
    const world = new World();
    world.api.interfere = ({ path }) => {
      if (path.includes('job-3-')) throw new KubeApiError({ status: 500, message: 'no', method: 'GET', path } as never);
    };
    await world.reconcileJobs(...Array.from({ length: 70 }, (_, index) => waiting(`job-${index}`)));
    expect([world.made.length, world.errors.length]).toEqual([63, 1]);
  });

  it('leave what somebody else has made as it is', async () => {
    const world = new World();
    const stranger = {
      apiVersion: 'autoscaling.x-k8s.io/v1',
      kind: 'ProvisioningRequest',
      metadata: { name: 'a-00000000-e1' },
      spec: {},
    };
    await world.api.create(REQUESTS, stranger);
    await world.reconcileJobs(waiting('a'));
    expect(world.stateText()).toMatch(/^false\/Refused: .*a-00000000-e1 of another owner exists/);
    await world.reconcileJobs();
    expect(world.made).toHaveLength(1);
  });
});

/** The job as the API server has it. */
async function live(api: FakeKubeApi, job: TrainingJob): Promise<TrainingJob> {
  const path = trainingJobsPath({ namespace: NAMESPACE });
  const { name, labels = {} } = job.metadata;
  return api.create<TrainingJob>(path, { ...job, metadata: { name, labels } });
}

describe('nodes that an earlier leader has requested', () => {
  it.each([
    ['started', (job: TrainingJob) => ({ ...job, status: waiting('a', 1, 'PodsCreated').status })],
    ['waits for its next attempt', (job: TrainingJob) => ({ ...job, status: waiting('a', 3).status })],
  ])('are no longer requested if the job %s meanwhile', async (_, change) => {
    const world = new World();
    const job = await live(world.api, waiting('a'));
    await world.reconcileJobs(job);
    const path = `${trainingJobsPath({ namespace: NAMESPACE })}/a`;
    await world.api.replace(path, change(job) as never, { subresource: 'status' });
    await world.successor().reconcileJobs();
    expect(world.made).toEqual([]);
  });

  it('are no longer requested if the job is gone, or if the operator requests no nodes any more', async () => {
    const world = new World();
    await world.reconcileJobs(waiting('gone'), await live(world.api, waiting('waits')));
    expect(world.made).toHaveLength(2);
    await world.successor().reconcileJobs();
    expect(world.made.map(({ metadata }) => metadata.ownerReferences?.[0]?.name)).toEqual(['waits']);
    await world.successor(null).reconcileJobs();
    expect(world.made).toEqual([]);
  });

  it('stay requested while the job waits, although the cache of the leader does not show it', async () => {
    const world = new World();
    const job = await live(world.api, waiting('a'));
    await world.reconcileJobs(job);
    await world.reconcileJobs();
    expect(world.made).toHaveLength(1);
    const next = world.successor();
    await next.reconcileJobs();
    expect([world.made.length, next.errors]).toEqual([1, []]);
    await next.reconcileJobs(job);
    expect(world.made).toHaveLength(1);
  });

  it('stay requested if their labels, owner and name do not agree: another program made them', async () => {
    const world = new World();
    await world.reconcileJobs(waiting('a'));
    const [{ metadata, spec } = { metadata: { name: '' }, spec: {} }] = world.made;
    const { labels, ownerReferences } = metadata;
    for (const changed of [
      { name: 'other', labels, ownerReferences },
      { name: 'a-00000000-e9', labels: { ...labels, 'training.coxswain.dev/job-uid': 'x' }, ownerReferences },
      { name: 'a-00000000-e8', labels },
    ])
      await world.api.create(REQUESTS, { apiVersion: 'v1', kind: 'ProvisioningRequest', metadata: changed, spec });
    await world.successor().reconcileJobs();
    expect(world.made.map(({ metadata: { name } }) => name).sort()).toEqual([
      'a-00000000-e8',
      'a-00000000-e9',
      'other',
    ]);
  });

  it('are searched again every ten minutes, and at the next interval after a failure', async () => {
    const world = new World();
    await world.reconcileJobs();
    await world.successor().reconcileJobs(waiting('a'));
    await world.reconcileJobs();
    expect(world.made).toHaveLength(1);
    await world.clock.advance(600_000);
    world.api.interfere = fails(500, 'no');
    await world.reconcileJobs();
    expect([world.made.length, world.errors.length]).toEqual([1, 1]);
    world.api.interfere = () => undefined;
    await world.reconcileJobs();
    expect(world.made).toEqual([]);
  });
});

describe('nodes that no longer fit their job', () => {
  it.each<[string, (world: World) => void, string, readonly number[]]>([
    ['size', (world) => (world.layout = { ...layout, dataParallelDegree: 4 }), 'h100', [2]],
    ['pod template', (world) => (world.pool = 'h200'), 'h200', [2, 1]],
  ])('are requested anew with another %s, by the same leader and by the next', async (_, change, pool, counts) => {
    for (const isNext of [false, true]) {
      const before = new World();
      const job = await live(before.api, waiting('a'));
      await before.reconcileJobs(job);
      const uid = before.made[0]?.metadata.uid;
      const world = isNext ? before.successor() : before;
      change(world);
      await world.reconcileJobs(job);
      await world.reconcileJobs(job);
      expect(world.made).toHaveLength(1);
      expect(world.made[0]?.metadata.uid).not.toBe(uid);
      expect(world.made[0]?.spec.podSets.map(({ count }) => count)).toEqual(counts);
      const templates = world.api.objects<KubeObject & { template: { spec: { nodeSelector: unknown } } }>(
        podTemplatesPath({ namespace: NAMESPACE }),
      );
      expect(templates[0]?.template.spec.nodeSelector).toEqual({ pool });
      expect(world.errors).toEqual([]);
    }
  });

  it('stay as they are while the API server has another version of the job than the cache', async () => {
    const world = new World();
    const job = await live(world.api, waiting('a'));
    await world.reconcileJobs(job);
    const uid = world.made[0]?.metadata.uid;
    world.pool = 'h200';
    await world.reconcileJobs({ ...job, metadata: { ...job.metadata, resourceVersion: '1' } });
    expect(world.made[0]?.metadata.uid).toBe(uid);
  });

  it('are not replaced if an earlier release requested them in the same size', async () => {
    const world = new World();
    const job = await live(world.api, waiting('a'));
    await world.reconcileJobs(job);
    const [made] = world.made;
    const path = `${REQUESTS}/${made?.metadata.name}`;
    await world.api.patch(path, { metadata: { annotations: null } }, { type: 'merge' });
    await world.reconcileJobs(job);
    expect(world.made[0]?.metadata.uid).toBe(made?.metadata.uid);
    world.layout = { ...layout, dataParallelDegree: 4 };
    await world.reconcileJobs(job);
    expect(world.made[0]?.metadata.uid).not.toBe(made?.metadata.uid);
  });

  it('are not requested if the template of another owner has the name', async () => {
    const world = new World();
    const template = { apiVersion: 'v1', kind: 'PodTemplate', metadata: { name: 'a-00000000-e1' } };
    await world.api.create(podTemplatesPath({ namespace: NAMESPACE }), template);
    await world.reconcileJobs(waiting('a'));
    expect([world.made, world.stateText()]).toEqual([
      [],
      expect.stringMatching(/^false\/Refused: .*PodTemplate .* another/),
    ]);
  });
});
