import {
  GPU_RESOURCE,
  KeptLogBounds,
  LABELS,
  POD_ENV,
  RANK_ENV,
  POD_FINALIZER,
  SCHEDULING_GATE,
  type CheckpointBucket,
  type PlacementSpec,
  type TrainingJobSpecInput,
} from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { plainly } from '@coxswain/engines';
import { toPod, type PodContext } from './pod-manifest.ts';

const BUCKET = { uri: 's3://training/runs', endpoint: 'http://minio:9000' };
const context: PodContext = {
  name: 'tiny-gpt-3f1c2b9e-e2-1',
  launcherImage: 'coxswain/launcher:dev',
  reportUrls: ['https://a:9443', 'https://b:9443'],
  reportCaPem: 'CA',
  user: undefined,
  keptLogs: KeptLogBounds.parse({}),
  engine: plainly(['python3', '-m', 'train'], {}),
};
const placement = (overrides: Partial<PlacementSpec> = {}): { spec: PlacementSpec } => ({
  spec: {
    jobName: 'tiny-gpt',
    jobUid: aTrainingJob().metadata.uid,
    epoch: 2,
    layout: { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 },
    worldSize: 4,
    ranksPerPod: 3,
    nodes: ['node-a', 'node-b'],
    ...overrides,
  },
});

interface Pod {
  readonly metadata: {
    labels: Record<string, string>;
    annotations: Record<string, string>;
    ownerReferences: unknown[];
    finalizers: string[];
  };
  readonly spec: {
    readonly affinity: unknown;
    readonly tolerations: readonly Readonly<Record<string, unknown>>[];
    readonly schedulingGates: unknown;
    readonly automountServiceAccountToken: boolean;
    readonly securityContext: Record<string, unknown>;
    readonly containers: readonly {
      readonly command: readonly string[];
      readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: unknown }[];
      readonly resources: { readonly limits: Record<string, string> };
      readonly volumeMounts: readonly { readonly mountPath: string; readonly readOnly?: boolean }[];
      readonly securityContext: unknown;
    }[];
    readonly volumes: readonly Record<string, unknown>[];
  };
}
const podOf = (
  overrides: {
    readonly job?: Parameters<typeof aTrainingJob>[0];
    readonly placement?: Partial<PlacementSpec>;
    readonly context?: Partial<PodContext>;
    readonly podIndex?: number;
  } = {},
): Pod =>
  toPod({ job: aTrainingJob(overrides.job), placement: placement(overrides.placement) }, overrides.podIndex ?? 1, {
    ...context,
    ...overrides.context,
  }) as unknown as Pod;
const envOf = (pod: Pod): Record<string, string | undefined> =>
  Object.fromEntries(pod.spec.containers[0]?.env.map(({ name, value }) => [name, value]) ?? []);

describe('a pod of a gang', () => {
  it('waits behind our gate and can be bound to its node alone', () => {
    const { spec } = podOf();
    expect(spec.schedulingGates).toEqual([{ name: SCHEDULING_GATE }]);
    const toNode = '"matchFields":[{"key":"metadata.name","operator":"In","values":["node-b"]}]';
    expect(JSON.stringify(spec.affinity)).toContain(toNode);
  });

  it('stays on a node that does not answer for as long as the operator lets it: nobody else ends it', () => {
    const forEver = podOf().spec.tolerations.filter(({ effect }) => effect === 'NoExecute');
    expect(forEver).toEqual(
      ['not-ready', 'unreachable'].map((what) => ({
        key: `node.kubernetes.io/${what}`,
        operator: 'Exists',
        effect: 'NoExecute',
      })),
    );
  });

  it('is held from its making on, so that its end cannot be forgotten before it is recorded', () => {
    expect(podOf().metadata.finalizers).toEqual([POD_FINALIZER]);
  });

  it('is marked with its ranks, of which the last pod may hold fewer', () => {
    const pod = podOf();
    expect(envOf(pod)).toMatchObject({ [POD_ENV.epoch]: '2', [POD_ENV.podIndex]: '1' });
    expect(pod.metadata.annotations).toMatchObject({ 'training.coxswain.dev/ranks': '3' });
    expect(podOf({ podIndex: 0 }).metadata.annotations).toMatchObject({ 'training.coxswain.dev/ranks': '0-2' });
  });

  it('carries every variable that a launcher may read', () => {
    const resume = { checkpoint: 'c', step: 20, path: 'tiny/epoch-1/step-20', manifestSha256: 'b'.repeat(64) };
    const bucket = { ...BUCKET, credentialsSecret: 'job-bucket' };
    const job = { spec: { checkpoint: { bucket }, resources: { gpusPerNode: 4 }, code: { sha256: 'a'.repeat(64) } } };
    const { spec } = podOf({ job, placement: { resume }, context: { codeUrl: 'http://minio:9000/code' } });
    const env = spec.containers[0]?.env.map(({ name }) => name) ?? [];
    // A pod that converts a checkpoint has its order in place of a gang's facts; this job has no Secrets, preloads and keeps nothing in memory.
    const ofGangs = Object.values(POD_ENV).filter((name) => !/_(CONVERSION|(SECRET|PRELOAD|MEMORY)_\w+)$/.test(name));
    expect(env.filter((name) => name.startsWith('COXSWAIN_')).toSorted()).toEqual(ofGangs.toSorted());
    expect(new Set(env).size).toBe(env.length);
  });

  it('says where checkpoints are mounted, and nothing that changes with each start of its ranks', () => {
    const resume = { checkpoint: 'c', step: 20, path: 'tiny/epoch-1/step-20', manifestSha256: 'b'.repeat(64) };
    const env = envOf(podOf({ placement: { resume } }));
    expect(env).toMatchObject({ [POD_ENV.checkpointMount]: '/coxswain/checkpoints' });
    expect(Object.keys(env).filter((name) => Object.values<string>(RANK_ENV).includes(name))).toEqual([]);
    expect(JSON.stringify(env)).not.toContain('step-20');
    const bare = podOf({ job: { spec: { data: undefined, checkpoint: undefined } } });
    expect(envOf(bare)).not.toHaveProperty(POD_ENV.checkpointMount);
  });

  it.each<[string, CheckpointBucket, readonly unknown[]]>([
    ['without credentials uses the identity of the pod', BUCKET, []],
    [
      'with a Secret reads two keys of it',
      { ...BUCKET, credentialsSecret: 'job-bucket' },
      [
        { secretKeyRef: { name: 'job-bucket', key: 'AWS_ACCESS_KEY_ID', optional: false } },
        { secretKeyRef: { name: 'job-bucket', key: 'AWS_SECRET_ACCESS_KEY', optional: false } },
      ],
    ],
  ])('that saves to a bucket has a disk of the node instead of a claim, and %s', (_how, bucket, secrets) => {
    const { spec } = podOf({ job: { spec: { checkpoint: { bucket }, resources: { gpusPerNode: 4 } } } });
    expect(spec.volumes.find(({ name }) => name === 'coxswain-checkpoints')).toMatchObject({ emptyDir: {} });
    const env = spec.containers[0]?.env ?? [];
    expect(env.find(({ name }) => name === POD_ENV.bucket)?.value).toBe(JSON.stringify(BUCKET));
    expect(env.filter(({ name }) => name.startsWith(`${POD_ENV.bucket}_`)).map(({ valueFrom }) => valueFrom)).toEqual(
      secrets,
    );
  });

  it('holds the ranks that its placement says, in a row or not', () => {
    const pod = podOf({ placement: { ranks: ['0,2', '1,3'] }, podIndex: 1 });
    expect(pod.metadata.annotations).toMatchObject({ 'training.coxswain.dev/ranks': '1,3' });
    expect(pod.spec.containers[0]?.resources?.limits[GPU_RESOURCE]).toBe('2');
  });

  it('asks for as many GPUs as it has ranks, and for their share of processors and memory', () => {
    const job = { spec: { resources: { cpuPerGpu: '1500m', memoryPerGpu: '0.1Gi' } } };
    const { resources } = podOf({ job, podIndex: 0 }).spec.containers[0] ?? {};
    expect(resources?.limits).toEqual({ [GPU_RESOURCE]: '3', cpu: '4500m', memory: '0.3Gi' });
  });

  it('is left alone by what makes clusters smaller', () => {
    expect(podOf().metadata.annotations).toMatchObject({
      'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
      'karpenter.sh/do-not-disrupt': 'true',
    });
  });

  it('has shared memory of its own, a quarter of what it may use', () => {
    const pod = podOf({ job: { spec: { resources: { memoryPerGpu: '100Gi' } } }, podIndex: 1 });
    expect(pod.spec.volumes).toContainEqual({
      name: 'coxswain-shared-memory',
      emptyDir: { medium: 'Memory', sizeLimit: '25600Mi' },
    });
    expect(pod.spec.containers[0]?.volumeMounts).toContainEqual({
      name: 'coxswain-shared-memory',
      mountPath: '/dev/shm',
    });
  });

  it('is told how much is looked at before its ranks: as the job says, else its runtime, else quickly', () => {
    const level = (pod: Pod): string | undefined => envOf(pod)['COXSWAIN_PREFLIGHT'];
    const runtime = {
      kind: 'ClusterTrainingRuntime',
      name: 'lab',
      uid: 'u',
      generation: 1,
      preflight: { level: 'Full', timeoutSeconds: 90 },
      template: {},
    } as const;
    const job = { spec: { preflight: { level: 'Off', timeoutSeconds: 60 } as const } };
    expect(level(podOf())).toBe('Quick');
    expect(level(podOf({ placement: { runtime } }))).toBe('Full');
    expect(envOf(podOf({ placement: { runtime } }))['COXSWAIN_PREFLIGHT_TIMEOUT_SECONDS']).toBe('90');
    expect(level(podOf({ job, placement: { runtime } }))).toBe('Off');
  });

  it('has ranks with as many threads as each has processors, unless the user knows better', () => {
    const job = { spec: { resources: { cpuPerGpu: '12' } } };
    expect(envOf(podOf({ job }))['OMP_NUM_THREADS']).toBe('12');
    const env = [{ name: 'OMP_NUM_THREADS', value: '3' }];
    const chosen = podOf({ job: { spec: { ...job.spec, engine: { ...aTrainingJob().spec.engine, env } } } });
    expect(chosen.spec.containers[0]?.env.filter(({ name }) => name === 'OMP_NUM_THREADS')).toEqual(env);
  });

  it('starts the engine through the launcher, which any image can run', () => {
    expect(podOf().spec.containers[0]?.command).toEqual([
      '/coxswain/bin/coxswain-launcher',
      'run',
      '--',
      'python3',
      '-m',
      'train',
    ]);
  });

  it('passes on what looks like a reference to a variable as it was written', () => {
    const engine = plainly(['sh', '-c', 'echo $$ $(COXSWAIN_TOKEN_FILE)'], { PRICE: '$(A) $$5' });
    const pod = podOf({ context: { engine } });
    expect(pod.spec.containers[0]?.command.at(-1)).toBe('echo $$$$ $$(COXSWAIN_TOKEN_FILE)');
    expect(envOf(pod)['PRICE']).toBe('$$(A) $$$$5');
  });

  it('never lets a user’s variable replace one of ours', () => {
    const engine = { ...context.engine, env: { [POD_ENV.epoch]: '99', MINE: 'yes' } };
    const env = podOf({ context: { engine } }).spec.containers[0]?.env ?? [];
    expect(env.filter(({ name }) => name === POD_ENV.epoch)).toEqual([{ name: POD_ENV.epoch, value: '2' }]);
    expect(env).toContainEqual({ name: 'MINE', value: 'yes' });
  });

  it('mounts the weights that it begins with read-only, and nothing for data that is made up', () => {
    const spec = {
      engine: { name: 'command' as const, image: 'any', command: ['x'] },
      data: { format: 'mock' as const },
      initialWeights: { claimName: 'weights', path: 'llama', format: 'safetensors' as const },
    };
    const { volumes, containers } = podOf({ job: { spec } }).spec;
    const claims = volumes.flatMap((volume) => volume['persistentVolumeClaim'] ?? []);
    expect(claims).toEqual(expect.arrayContaining([{ claimName: 'weights' }]));
    expect(claims).not.toEqual(expect.arrayContaining([{ claimName: 'corpus' }]));
    const mount = containers[0]?.volumeMounts.find(({ mountPath }) => mountPath === '/coxswain/weights');
    expect(mount?.readOnly).toBe(true);
  });

  it('mounts the claim of an adopted checkpoint read-only', () => {
    const resume = { checkpoint: 'llama', step: 7, path: 'llama/step-7', manifestSha256: '0'.repeat(64) };
    const { volumes, containers } = podOf({ placement: { resume: { ...resume, claimName: 'old-runs' } } }).spec;
    expect(volumes.flatMap((volume) => volume['persistentVolumeClaim'] ?? [])).toContainEqual({
      claimName: 'old-runs',
    });
    expect(containers[0]?.volumeMounts).toContainEqual({
      name: 'coxswain-adopted',
      mountPath: '/coxswain/adopted',
      readOnly: true,
    });
  });

  it('mounts data read-only and no claim that the job does not name', () => {
    const mounts = podOf().spec.containers[0]?.volumeMounts ?? [];
    expect(mounts.find(({ mountPath }) => mountPath === '/coxswain/data')?.readOnly).toBe(true);
    const bare = podOf({ job: { spec: { data: undefined, checkpoint: undefined } } });
    expect(bare.spec.volumes.some((volume) => 'persistentVolumeClaim' in volume)).toBe(false);
  });

  describe('of a job with room for what need not be kept', () => {
    const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
    const podWith = (scratch: TrainingJobSpecInput['scratch'], image = 'a/b:1'): Pod =>
      podOf({ job: { spec: { scratch, engine: { name: 'command', image, command: ['x'] } } } });
    const volumeOf = (pod: Pod): unknown => pod.spec.volumes.find(({ name }) => name === 'coxswain-scratch');

    it.each<[string, TrainingJobSpecInput['scratch'], object | undefined]>([
      ['none is asked for', undefined, undefined],
      ['it is a directory of the node', {}, { emptyDir: {} }],
      ['the directory may have a bound', { sizeLimit: '200Gi' }, { emptyDir: { sizeLimit: '200Gi' } }],
      ['it may be a claim', { claimName: 'fast' }, { persistentVolumeClaim: { claimName: 'fast' } }],
    ])('%s', (_sentence, scratch, source) => {
      const pod = podWith(scratch);
      expect(volumeOf(pod)).toEqual(source === undefined ? undefined : { name: 'coxswain-scratch', ...source });
      const mounts = pod.spec.containers[0]?.volumeMounts.filter(({ mountPath }) => mountPath === '/coxswain/scratch');
      expect(mounts).toHaveLength(source === undefined ? 0 : 1);
    });

    it.each<[string, TrainingJobSpecInput['scratch'], string, readonly (string | undefined)[]]>([
      ['nowhere without room', undefined, 'a/b:1', [undefined, undefined]],
      ['on the node', {}, 'a/b:1', ['/coxswain/scratch/cache/triton', '/coxswain/scratch/cache/huggingface']],
      [
        'on a claim by the digest of the image',
        { claimName: 'fast', path: 'team' },
        `a/b@${digest}`,
        ['/coxswain/scratch/team/cache/0123456789abcdef/triton', '/coxswain/scratch/team/cache/huggingface'],
      ],
      [
        'on a claim by a digest of the image’s name, where it has none',
        { claimName: 'fast' },
        'a/b:1',
        ['/coxswain/scratch/cache/3dee3bf45c1bd426/triton', '/coxswain/scratch/cache/huggingface'],
      ],
    ])('has its caches %s', (_sentence, scratch, image, want) => {
      const env = envOf(podWith(scratch, image));
      expect([env['TRITON_CACHE_DIR'], env['HF_HOME']]).toEqual(want);
    });

    it('has them where the user says', () => {
      const engine = { name: 'reference' as const, image: 'a', env: [{ name: 'HF_HOME', value: '/mine' }] };
      expect(envOf(podOf({ job: { spec: { scratch: {}, engine } } }))['HF_HOME']).toBe('/mine');
    });
  });

  it.each<[string, boolean | undefined, string | undefined]>([
    ['tells libraries nothing of the network', undefined, undefined],
    ['tells libraries that there is no way out, where the job says so', true, '1'],
    ['tells them nothing where it says that there is one', false, undefined],
  ])('%s', (_sentence, offline, want) => {
    expect(envOf(podOf({ job: { spec: { offline } } }))['HF_HUB_OFFLINE']).toBe(want);
  });

  it('tells trackers where curves go on: the same directory, and tags of job and epoch', () => {
    const uid = aTrainingJob().metadata.uid;
    const [first, second] = [1, 2].map((epoch) => envOf(podOf({ placement: { epoch } })));
    expect(first?.['TENSORBOARD_LOGGING_DIR']).toBe(`/coxswain/checkpoints/tensorboard/${uid}`);
    expect(second?.['TENSORBOARD_LOGGING_DIR']).toBe(first?.['TENSORBOARD_LOGGING_DIR']);
    expect(JSON.parse(second?.['MLFLOW_RUN_CONTEXT'] ?? '')).toEqual({
      [LABELS.jobUid]: uid,
      [LABELS.jobName]: 'tiny-gpt',
      [LABELS.epoch]: '2',
    });
  });

  describe('of a job that uses Secrets', () => {
    const engine = {
      ...aTrainingJob().spec.engine,
      env: [{ name: 'HF_HOME', value: '/tmp' }],
      secretEnv: [{ name: 'HF_TOKEN', secret: 'job-hf', key: 'token', optional: false }],
      secretFiles: [
        { secret: 'job-hf', key: 'token', optional: false },
        { secret: 'job-aws', key: '.credentials', optional: true },
      ],
    };
    const { containers, volumes } = podOf({ job: { spec: { engine } } }).spec;

    it('leaves reading them to the kubelet: a variable is a reference', () => {
      expect(containers[0]?.env).toContainEqual({
        name: 'HF_TOKEN',
        valueFrom: { secretKeyRef: { name: 'job-hf', key: 'token', optional: false } },
      });
      expect(containers[0]?.env).toContainEqual({ name: 'HF_HOME', value: '/tmp' });
    });

    it('holds the keys that it wants as files below one directory that it can only read, and no others', () => {
      const source = (secret: object) => ({ secret });
      expect(volumes).toContainEqual({
        name: 'coxswain-secrets',
        projected: {
          sources: [
            source({ name: 'job-hf', items: [{ key: 'token', path: 'job-hf/token' }], optional: false }),
            source({ name: 'job-aws', items: [{ key: '.credentials', path: 'job-aws/.credentials' }], optional: true }),
          ],
        },
      });
      expect(containers[0]?.volumeMounts).toContainEqual({
        name: 'coxswain-secrets',
        mountPath: '/coxswain/secrets',
        readOnly: true,
      });
    });

    it('gives them to the trainer alone', () => {
      const pod = podOf({ job: { spec: { engine } } }) as unknown as { spec: { initContainers: unknown } };
      expect(JSON.stringify(pod.spec.initContainers)).not.toMatch(/secret|HF_TOKEN/);
    });
  });

  it('without Secrets mounts none', () => {
    expect(JSON.stringify(podOf())).not.toMatch(/coxswain-secrets|secretKeyRef/);
  });

  it('belongs to its job, by a reference that the garbage collector follows', () => {
    const { metadata } = podOf();
    expect(metadata.ownerReferences).toMatchObject([
      { kind: 'TrainingJob', controller: true, blockOwnerDeletion: true },
    ]);
    expect(metadata.labels).toMatchObject({ [LABELS.epoch]: '2', [LABELS.podIndex]: '1' });
  });

  it.each([
    ['holds no Kubernetes token', (pod: Pod) => pod.spec.automountServiceAccountToken, false],
    [
      'gives its container no privilege',
      (pod: Pod) => pod.spec.containers[0]?.securityContext,
      { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    ],
    [
      'leaves the user to the image',
      (pod: Pod) => pod.spec.securityContext,
      { seccompProfile: { type: 'RuntimeDefault' } },
    ],
  ])('%s', (_sentence, look, want) => {
    expect(look(podOf())).toEqual(want);
  });
});
