import { API_GROUP_VERSION, type TrainingJob } from '@coxswain/api-types';
import { join } from 'node:path';
import { sharedWorld } from './testing/shared-world.ts';
import type { World } from './testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
});
afterEach(async () => {
  await world.clear();
  await world.plane.kubectl(['delete', 'clustertrainingruntimes,nodes', '--all']);
});
afterAll(() => world.stop());

const isRunning = ({ status }: TrainingJob): boolean => status?.state === 'Running';
const message =
  (reason: string) =>
  ({ status }: TrainingJob): boolean =>
    status?.conditions?.some((condition) => condition.status === 'False' && condition.reason === reason) === true;
const runtimesPath = (namespace?: string): string =>
  namespace === undefined
    ? `/apis/${API_GROUP_VERSION}/clustertrainingruntimes`
    : `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/trainingruntimes`;

/** Makes or replaces a runtime; without a namespace one of the cluster. */
async function runtime(name: string, spec: Readonly<Record<string, unknown>>, namespace?: string): Promise<void> {
  await world.plane.admin.json({
    method: 'PATCH',
    path: `${runtimesPath(namespace)}/${name}?fieldManager=test&force=true`,
    body: {
      apiVersion: API_GROUP_VERSION,
      kind: namespace === undefined ? 'ClusterTrainingRuntime' : 'TrainingRuntime',
      metadata: { name },
      spec,
    },
    contentType: 'application/apply-patch+yaml',
  });
}

const EFA = 'vpc.amazonaws.com/efa';
const efa = (count: number, more: Readonly<Record<string, unknown>> = {}) => ({
  description: 'Nodes with EFA',
  template: {
    metadata: { annotations: { 'example.com/fabric': 'efa' } },
    spec: {
      nodeSelector: { pool: 'efa' },
      tolerations: [{ key: 'sku', operator: 'Exists', effect: 'NoSchedule' }],
      containers: [
        {
          name: 'trainer',
          image: 'example/trainer:1',
          resources: { limits: { [EFA]: count } },
          env: [{ name: 'FI_PROVIDER', value: 'efa' }],
        },
      ],
      ...more,
    },
  },
});
const onNodes = { runtimeRef: { name: 'efa' } };
const efaNode = (name: string, devices: number): Promise<void> =>
  world.node(
    name,
    2,
    { pool: 'efa' },
    { devices: { [EFA]: devices }, taints: [{ key: 'sku', value: 'gpu', effect: 'NoSchedule' }] },
  );

const twoEfaNodes = () => Promise.all([efaNode('efa-a', 4), efaNode('efa-b', 4)]);

/** Of the job `tiny`. */
const patchSpec = (namespace: string, spec: object): Promise<string> =>
  world.plane.kubectl(['-n', namespace, 'patch', 'tjob', 'tiny', '--type=merge', '-p', JSON.stringify({ spec })]);

interface MadePod {
  readonly metadata: { readonly annotations: Record<string, string> };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly {
      readonly name: string;
      readonly image: string;
      readonly env: readonly { readonly name: string; readonly value?: string }[];
      readonly resources: { readonly limits: Record<string, string> };
    }[];
  };
}
const podsOf = async (namespace: string): Promise<readonly MadePod[]> =>
  (await world.pods(namespace)) as unknown as readonly MadePod[];

describe('a job with an administrator’s runtime', () => {
  it('runs on the nodes that the runtime chooses, with its devices, image and variables', async () => {
    await Promise.all([world.node('plain-a', 2), world.node('plain-b', 2), efaNode('efa-a', 4), efaNode('efa-b', 4)]);
    await runtime('efa', efa(4));
    await world.operator();
    const namespace = await world.namespace();
    const engine = { name: 'command' as const, command: ['sleep', '1'] };
    await world.until(await world.job(namespace, 'tiny', { ...onNodes, engine }), 'running', isRunning);
    const pods = await podsOf(namespace);
    expect(pods.map(({ spec }) => spec.nodeName).toSorted()).toEqual(['efa-a', 'efa-b']);
    for (const { metadata, spec } of pods) {
      const trainer = spec.containers.find(({ name }) => name === 'trainer');
      expect(metadata.annotations['example.com/fabric']).toBe('efa');
      expect(trainer?.image).toBe('example/trainer:1');
      expect(trainer?.env).toContainEqual({ name: 'FI_PROVIDER', value: 'efa' });
      expect(trainer?.resources.limits).toEqual({ 'nvidia.com/gpu': '2', [EFA]: '4' });
    }
  });

  it('waits where a node has one device too few, and says which', async () => {
    await Promise.all([efaNode('efa-a', 4), efaNode('efa-b', 3)]);
    await runtime('efa', efa(4));
    await world.operator();
    const job = await world.job(await world.namespace(), 'tiny', onNodes);
    const { status } = await world.until(job, 'waiting', message('WaitingForCapacity'));
    expect(status?.summary).toBe(
      `Needs 4 GPUs; the nodes that suit the job have 2 in all. It would start now if you lower layout.dataParallelDegree from 2 to 1. 1 GPU node does not suit the job's runtime: 1 has 3 of 4 ${EFA}.`,
    );
    await world.plane.kubectl(['delete', 'node', 'efa-b']);
    await efaNode('efa-b', 4);
    await world.until(job, 'running', isRunning);
  });

  it('waits for a runtime that is not there, and runs when there is one', async () => {
    await twoEfaNodes();
    await world.operator();
    const job = await world.job(await world.namespace(), 'tiny', onNodes);
    const { status } = await world.until(job, 'refused', message('RuntimeRefused'));
    expect(status?.summary).toMatch(/^there is no ClusterTrainingRuntime efa; /);
    await runtime('efa', efa(4));
    await world.plane.kubectl(['-n', job.metadata.namespace ?? '', 'annotate', 'tjob', 'tiny', 'look=now']);
    await world.until(job, 'running', isRunning);
  });

  it('keeps its pods when the runtime is changed, and gets the new ones with its next epoch', async () => {
    await twoEfaNodes();
    await runtime('efa', efa(4));
    const first = await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'tiny', onNodes);
    await world.until(job, 'running', isRunning);
    const uids = async () => (await world.pods(namespace)).map(({ metadata }) => metadata.uid).toSorted();
    const before = await uids();
    await runtime('efa', efa(2));
    // Another process, which remembers nothing and looks at every job.
    await first.stop();
    await world.operator();
    const other = await world.job(namespace, 'other', { runtimeRef: { name: 'none' } });
    await world.until(other, 'refused', message('RuntimeRefused'));
    expect(before).toHaveLength(2);
    expect(await uids()).toEqual(before);

    await patchSpec(namespace, { suspend: true });
    await world.until(job, 'suspended', ({ status }) => status?.state === 'Suspended');
    await patchSpec(namespace, { suspend: false });
    await world.until(job, 'running again', (current) => isRunning(current) && current.status?.epoch === 2);
    const ofEpoch2 = (await podsOf(namespace)).filter(({ spec }) =>
      spec.containers[0]?.env.some(({ name, value }) => name === 'COXSWAIN_EPOCH' && value === '2'),
    );
    expect(ofEpoch2.map(({ spec }) => spec.containers[0]?.resources.limits[EFA])).toEqual(['2', '2']);
    const placements = await world.plane.admin.json<{
      items: { spec: { epoch: number; runtime?: { generation: number } } }[];
    }>({
      method: 'GET',
      path: `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/placements`,
    });
    const generations = placements.items.map(({ spec }) => [spec.epoch, spec.runtime?.generation]);
    expect(generations.toSorted()).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it('tells in the cluster’s words what it refuses of a pod that is made of the template', async () => {
    await twoEfaNodes();
    await runtime('efa', efa(4, { runtimeClassName: 'Not A Name' }));
    await world.operator();
    const job = await world.job(await world.namespace(), 'tiny', onNodes);
    const { status } = await world.until(job, 'refused', message('PodsRefused'));
    expect(status?.summary).toMatch(/RuntimeClass "Not A Name" not found/);
    expect(status?.epoch).toBe(0);
  });
});

describe('a job with a runtime of its namespace', () => {
  it('runs with what any job may hold, and not with what only an administrator may give', async () => {
    await Promise.all([world.node('plain-a', 2), world.node('plain-b', 2)]);
    await world.operator();
    const namespace = await world.namespace();
    const own = { kind: 'TrainingRuntime' as const, name: 'own' };
    const spec = (template: object) => ({ template: { spec: template } });
    await runtime('own', spec({ containers: [{ name: 'trainer', image: 'example/own' }] }), namespace);
    const engine = { name: 'command' as const, command: ['sleep', '1'] };
    await world.until(await world.job(namespace, 'tiny', { runtimeRef: own, engine }), 'running', isRunning);

    await runtime(
      'greedy',
      spec({ hostNetwork: true, volumes: [{ name: 'all', hostPath: { path: '/' } }] }),
      namespace,
    );
    const greedy = await world.job(namespace, 'greedy', { runtimeRef: { ...own, name: 'greedy' } });
    const { status } = await world.until(greedy, 'refused', message('RuntimeRefused'));
    expect(status?.summary).toMatch(
      /spec\.hostNetwork cannot be set: .* spec\.volumes\[all\]\.hostPath cannot be set: /,
    );
  });

  it('has no container that is root, which the level "restricted" proves, and an Event names those that got a user', async () => {
    await Promise.all([world.node('plain-a', 2), world.node('plain-b', 2)]);
    await world.operator({ environment: { COXSWAIN_POD_USER: '65532' } });
    const namespace = await world.namespace();
    await world.plane.kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted']);
    const image = 'example/own';
    const containers = [
      { name: 'trainer', image },
      { name: 'daemon', image },
    ];
    const spec = { initContainers: [{ name: 'prepare', image }], containers };
    await runtime('own', { template: { spec } }, namespace);
    const runtimeRef = { kind: 'TrainingRuntime' as const, name: 'own' };
    await world.until(await world.job(namespace, 'tiny', { runtimeRef }), 'running', isRunning);
    const events = await world.plane.kubectl([
      '-n',
      namespace,
      'get',
      'events.events.k8s.io',
      '-o',
      'jsonpath={..note}',
    ]);
    expect(events).toMatch(/Containers prepare, daemon of TrainingRuntime own name no user and run as user 65532/);
  });
});

describe('a namespace that enforces the Pod Security level "restricted"', () => {
  const EXAMPLE = join(import.meta.dirname, '../../../examples/runtimes/restricted.yaml');

  it('takes the pods of a job with the runtime that is made for it, and says what it misses in others', async () => {
    await Promise.all([world.node('plain-a', 2), world.node('plain-b', 2)]);
    await world.operator();
    const namespace = await world.namespace();
    await world.plane.kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted']);
    const bare = await world.job(namespace, 'bare');
    const { status } = await world.until(bare, 'refused', message('PodsRefused'));
    expect(status?.summary).toMatch(/violates PodSecurity "restricted:latest": runAsNonRoot/);
    await world.plane.kubectl(['apply', '-f', EXAMPLE]);
    await world.until(await world.job(namespace, 'tiny', { runtimeRef: { name: 'restricted' } }), 'running', isRunning);
  });

  it('takes the pods of a job without a runtime where the operator gives ranks a user', async () => {
    await Promise.all([world.node('plain-a', 2), world.node('plain-b', 2)]);
    await world.operator({ environment: { COXSWAIN_POD_USER: '65532' } });
    const namespace = await world.namespace();
    await world.plane.kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted']);
    await world.until(await world.job(namespace, 'bare'), 'running', isRunning);
    await world.plane.kubectl(['apply', '-f', join(EXAMPLE, '../tcp.yaml')]);
    await world.until(
      await world.job(namespace, 'tcp', { runtimeRef: { name: 'tcp' } }),
      'placed',
      (job) => job.status?.conditions?.some(({ reason }) => reason === 'WaitingForCapacity') === true,
    );
  });
});

describe('the API server', () => {
  it.each([
    [
      'no image anywhere',
      { engine: { name: 'command', command: ['a'] } },
      /engine.image is required unless the job names a runtime/,
    ],
    [
      'a kind of runtime that there is none of',
      { runtimeRef: { kind: 'Runtime', name: 'a' } },
      /spec\.runtimeRef\.kind: Unsupported value/,
    ],
  ])('refuses a job with %s', async (_what, spec, sentence) => {
    const namespace = await world.namespace();
    await expect(world.job(namespace, 'tiny', spec as never)).rejects.toThrow(sentence);
  });

  it('lets the runtime of a job be changed only while it is suspended', async () => {
    const namespace = await world.namespace();
    await world.job(namespace, 'tiny', { suspend: true });
    await patchSpec(namespace, { runtimeRef: { name: 'a' } });
    await patchSpec(namespace, { suspend: false });
    await expect(patchSpec(namespace, { runtimeRef: { name: 'b' } })).rejects.toThrow(
      /runtimeRef may change only while the job is suspended/,
    );
  });
});
