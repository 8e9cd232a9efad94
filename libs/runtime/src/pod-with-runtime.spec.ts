import { nodeDemandOf, podWithRuntime } from './index.ts';

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', labels: { ours: '1' }, annotations: {} },
  spec: {
    restartPolicy: 'Never',
    tolerations: [{ key: 'nvidia.com/gpu' }],
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    initContainers: [{ name: 'install-launcher' }],
    containers: [
      {
        name: 'trainer',
        image: 'ours',
        command: ['/launcher', 'run', '--', 'python3', 'train.py'],
        env: [{ name: 'OMP_NUM_THREADS', value: '1' }],
        resources: { limits: { 'nvidia.com/gpu': '8' }, requests: { 'nvidia.com/gpu': '8' } },
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        volumeMounts: [
          { name: 'coxswain-launcher', mountPath: '/coxswain/bin' },
          { name: 'coxswain-shared-memory', mountPath: '/dev/shm' },
        ],
      },
    ],
    volumes: [{ name: 'coxswain-launcher' }, { name: 'coxswain-shared-memory' }],
  },
};
interface Pod {
  readonly metadata: object;
  readonly spec: {
    readonly containers: readonly Readonly<Record<string, unknown>>[];
    readonly volumes: readonly object[];
  } & Readonly<Record<string, unknown>>;
}
const kind = 'ClusterTrainingRuntime';
const named = { gang: 'tiny-e1-abc123' };
const withTemplate = (template: Readonly<Record<string, unknown>>, sourceScript?: string): Pod =>
  podWithRuntime(
    POD,
    { kind, template, ...(sourceScript === undefined ? {} : { sourceScript }) },
    named,
  ) as unknown as Pod;
const withTrainer = (fields: object) =>
  withTemplate({ spec: { containers: [{ name: 'trainer', ...fields }] } }).spec.containers[0];

describe('a pod with what its runtime adds', () => {
  it('is as it was where the runtime adds nothing', () => {
    expect(withTemplate({})).toEqual({ ...POD, spec: { ...POD.spec, initContainers: POD.spec.initContainers } });
  });

  it('carries labels and annotations of both, and our own where both name one', () => {
    const { metadata } = withTemplate({ metadata: { labels: { ours: '2', theirs: '3' }, annotations: { a: 'b' } } });
    expect(metadata).toEqual({ name: 'p', labels: { ours: '1', theirs: '3' }, annotations: { a: 'b' } });
  });

  it('holds whatever Kubernetes has for a pod and we have no word for', () => {
    const { spec } = withTemplate({
      spec: { runtimeClassName: 'nvidia', resourceClaims: [{ name: 'c' }], restartPolicy: 'Always' },
    });
    expect(spec).toMatchObject({ runtimeClassName: 'nvidia', resourceClaims: [{ name: 'c' }], restartPolicy: 'Never' });
  });

  it('tolerates what both tolerate, and runs the containers of both, ours first', () => {
    const { spec } = withTemplate({
      spec: { tolerations: [{ key: 'sku' }], containers: [{ name: 'tcpx' }], initContainers: [{ name: 'gib' }] },
    });
    expect(spec).toMatchObject({
      tolerations: [{ key: 'nvidia.com/gpu' }, { key: 'sku' }],
      containers: [{ name: 'trainer' }, { name: 'tcpx' }],
      initContainers: [{ name: 'install-launcher' }, { name: 'gib' }],
    });
  });

  it('asks for the devices of both, and for as many GPUs as we say', () => {
    const trainer = withTrainer({
      resources: { limits: { 'rdma/ib': 8, 'nvidia.com/gpu': 1 }, claims: [{ name: 'c' }] },
    });
    expect(trainer?.['resources']).toEqual({
      limits: { 'rdma/ib': 8, 'nvidia.com/gpu': '8' },
      requests: { 'nvidia.com/gpu': '8' },
      claims: [{ name: 'c' }],
    });
  });

  it('lays an administrator’s security context over ours', () => {
    expect(withTrainer({ securityContext: { capabilities: { add: ['IPC_LOCK'] } } })?.['securityContext']).toEqual({
      allowPrivilegeEscalation: false,
      capabilities: { add: ['IPC_LOCK'] },
    });
  });

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['says nothing', {}],
    ['says null, which Kubernetes takes for nothing', { allowPrivilegeEscalation: null, capabilities: null }],
    ['drops fewer capabilities', { capabilities: { drop: ['NET_RAW'] } }],
    ['adds none in so many words', { capabilities: { add: null } }],
  ])('keeps ours in every container where a namespace’s runtime %s', (_what, securityContext) => {
    const template = {
      spec: {
        securityContext: { seccompProfile: null, fsGroup: 7 },
        containers: [{ name: 'trainer', securityContext }, { name: 'beside', securityContext }, { name: 'bare' }],
        initContainers: [{ name: 'before', securityContext: { ...securityContext, runAsUser: 7 } }],
      },
    };
    const { spec } = podWithRuntime(POD, { kind: 'TrainingRuntime', template }, named) as unknown as Pod;
    expect(spec['securityContext']).toEqual({ seccompProfile: { type: 'RuntimeDefault' }, fsGroup: 7 });
    const [, ...init] = spec['initContainers'] as Pod['spec']['containers'];
    for (const container of [...spec.containers, ...init]) {
      expect(container['securityContext']).toMatchObject({
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      });
      expect((container['securityContext'] as { capabilities: object }).capabilities).toEqual({ drop: ['ALL'] });
    }
    expect(init[0]?.['securityContext']).toMatchObject({ runAsUser: 7 });
  });

  it('takes the runtime’s word for a variable', () => {
    const env = withTrainer({
      env: [
        { name: 'OMP_NUM_THREADS', value: '4' },
        { name: 'NCCL_NET', value: 'gIB' },
      ],
    })?.['env'];
    expect(env).toEqual([
      { name: 'OMP_NUM_THREADS', value: '4' },
      { name: 'NCCL_NET', value: 'gIB' },
    ]);
  });

  it('has a channel of its gang’s ComputeDomain beside what it claims anyway, in the trainer alone', () => {
    const template = {
      spec: {
        resourceClaims: [{ name: 'nics', resourceClaimTemplateName: 'all-nics' }],
        containers: [{ name: 'trainer', resources: { claims: [{ name: 'nics' }] } }, { name: 'beside' }],
      },
    };
    const { spec } = podWithRuntime(POD, { kind, template, computeDomain: {} }, named) as unknown as Pod;
    expect(spec['resourceClaims']).toEqual([
      { name: 'nics', resourceClaimTemplateName: 'all-nics' },
      { name: 'coxswain-compute-domain', resourceClaimTemplateName: 'tiny-e1-abc123-channel' },
    ]);
    expect(spec.containers.map(({ resources }) => (resources as { claims?: unknown } | undefined)?.claims)).toEqual([
      [{ name: 'nics' }, { name: 'coxswain-compute-domain' }],
      undefined,
    ]);
  });

  it.each([
    ['has the variables of its node’s NICs', 'infiniband', 'mlx5'],
    ['has none on nodes of another class', 'roce', undefined],
    ['has none where the class is not known', undefined, undefined],
  ])('%s', (_what, nicClass, want) => {
    const nicEnvironments = [{ nicClass: 'InfiniBand', env: [{ name: 'NCCL_IB_HCA', value: 'mlx5' }] }];
    const pod = podWithRuntime(POD, { kind, template: {}, nicEnvironments }, { ...named, nicClass }) as unknown as Pod;
    const env = pod.spec.containers[0]?.['env'] as { readonly name: string; readonly value: string }[];
    expect(env.find(({ name }) => name === 'NCCL_IB_HCA')?.value).toBe(want);
  });

  it('has the job’s image, and the runtime’s where the job has none', () => {
    expect(withTrainer({ image: 'theirs' })?.['image']).toBe('ours');
    const [{ image: _image, ...trainer } = {}] = POD.spec.containers;
    const pod = { ...POD, spec: { ...POD.spec, containers: [trainer] } };
    const template = { spec: { containers: [{ name: 'trainer', image: 'theirs' }] } };
    expect((podWithRuntime(pod, { kind, template }, named) as unknown as Pod).spec.containers[0]?.['image']).toBe(
      'theirs',
    );
  });

  it.each(['/dev/shm', '/dev/shm/'])('shares memory by the runtime’s volume where it brings one at %s', (mountPath) => {
    const { spec } = withTemplate({
      spec: {
        containers: [{ name: 'trainer', volumeMounts: [{ name: 'shm', mountPath }] }],
        volumes: [{ name: 'shm', emptyDir: { medium: 'Memory' } }],
      },
    });
    expect(spec.volumes).toEqual([{ name: 'coxswain-launcher' }, { name: 'shm', emptyDir: { medium: 'Memory' } }]);
    expect(spec.containers[0]?.['volumeMounts']).toEqual([
      { name: 'coxswain-launcher', mountPath: '/coxswain/bin' },
      { name: 'shm', mountPath },
    ]);
  });

  it('sources its script before each rank, whose program takes the shell’s place', () => {
    expect(withTemplate({}, '/usr/local/gib/$x.sh').spec.containers[0]?.['command']).toEqual([
      '/launcher',
      'run',
      '--',
      '/bin/bash',
      '-c',
      '. "$$0" && exec "$$@"',
      '/usr/local/gib/$$x.sh',
      'python3',
      'train.py',
    ]);
  });
});

describe('what such pods ask of a node', () => {
  it('is every label, taint and device that the template names, of all its containers together', () => {
    const demand = nodeDemandOf({
      spec: {
        nodeSelector: { pool: 'a', broken: 1 },
        tolerations: [
          { key: 'sku', operator: 'Exists', tolerationSeconds: null },
          { key: 'maintenance', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
        ],
        containers: [
          {
            name: 'trainer',
            resources: { limits: { 'rdma/ib': '8', cpu: '4', 'kubernetes.io/batch-cpu': '9', 'hugepages-2Mi': '1Gi' } },
          },
          { name: 'beside', resources: { requests: { 'rdma/ib': 1 }, limits: { 'rdma/ib': 1 } } },
        ],
      },
    });
    expect(demand).toEqual({
      nodeSelector: { pool: 'a' },
      tolerations: [{ key: 'sku', operator: 'Exists' }],
      devices: { 'rdma/ib': 9 },
    });
  });

  it('is what sidecars hold beside them, and no less than what the largest init container needs', () => {
    const requesting = (name: string, count: number, more: object = {}) => ({
      name,
      resources: { limits: { 'rdma/ib': count } },
      ...more,
    });
    const devicesWith = (...initContainers: readonly object[]) =>
      nodeDemandOf({ spec: { containers: [requesting('trainer', 4)], initContainers } }).devices;
    expect(devicesWith(requesting('a', 2, { restartPolicy: 'Always' }))).toEqual({ 'rdma/ib': 6 });
    expect(devicesWith(requesting('a', 2), requesting('b', 5))).toEqual({ 'rdma/ib': 5 });
    expect(devicesWith(requesting('a', 2))).toEqual({ 'rdma/ib': 4 });
  });

  it('is nothing where the template says nothing, or nonsense', () => {
    const nothing = { nodeSelector: {}, tolerations: [], devices: {} };
    for (const template of [{}, { spec: 'x' }, { spec: { tolerations: 1, nodeSelector: [], containers: [1, null] } }]) {
      expect(nodeDemandOf(template)).toEqual(nothing);
    }
  });
});
