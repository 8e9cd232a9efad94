/** More than 400 lines: tables of what is said, and what becomes of it. */
import { importJob } from './import-job.ts';
import type { ImportedJob } from './imported-job.ts';
import { aPyTorchJob, aRuntime, aTrainJob } from './testing/documents.ts';

const specOf = (...documents: readonly unknown[]): ImportedJob['job']['spec'] => importJob(documents).job.spec;
/** `outcome from → to: why | todo` of the lines about a path. */
const findingOf = ({ report }: ImportedJob, path: string): string =>
  report
    .filter(({ from }) => from.includes(path))
    .map(({ outcome, to, why, todo }) => [outcome, to, why, todo].filter(Boolean).join(' | '))
    .join('\n');

/** Not by its form, but by what it would be: 34 letters behind `hf_`. */
const TOKEN = `hf_${'x'.repeat(34)}`;

describe('a PyTorchJob', () => {
  it('becomes one gang of master and workers', () => {
    const pod = {
      spec: {
        containers: [
          {
            name: 'pytorch',
            image: 'a',
            command: ['torchrun', 'a.py'],
            resources: { limits: { 'nvidia.com/gpu': 8 } },
          },
        ],
      },
    };
    const specs = { Master: { template: pod }, Worker: { replicas: 3, template: structuredClone(pod) } };
    const spec = specOf(aPyTorchJob({ spec: { pytorchReplicaSpecs: specs } }));
    expect(spec.layout).toEqual({ dataParallelDegree: 32 });
    expect(spec.resources).toEqual({ gpusPerNode: 8 });
  });

  it.each<[string, Parameters<typeof aPyTorchJob>[0], object]>([
    ['its program without torchrun', {}, { engine: { command: ['python3', '-u', 'train.py'] } }],
    ['its image', {}, { engine: { image: 'example.com/train:1' } }],
    [
      'what torchrun says of processes, before what the job says',
      { spec: { nprocPerNode: '2' }, container: { command: ['torchrun', '--nproc-per-node', '4', 'a.py'] } },
      { resources: { gpusPerNode: 4 } },
    ],
    [
      'what the job says of processes, before its GPUs',
      { spec: { nprocPerNode: '2' } },
      { resources: { gpusPerNode: 2 } },
    ],
    ['GPUs where it says auto', { spec: { nprocPerNode: 'auto' } }, { resources: { gpusPerNode: 8 } }],
    [
      'a rank per GPU where a plain program was started once',
      { container: { command: ['python', 'a.py'] } },
      { layout: { dataParallelDegree: 8 } },
    ],
    [
      'a rank per pod where it asks for no GPU',
      { container: { resources: {} } },
      { layout: { dataParallelDegree: 1 } },
    ],
    [
      'resources, divided',
      { container: { resources: { limits: { 'nvidia.com/gpu': 8, cpu: '96', memory: '960Gi' } } } },
      { resources: { cpuPerGpu: '12', memoryPerGpu: '120Gi' } },
    ],
    [
      'the greatest limit of restarts',
      { spec: { runPolicy: { backoffLimit: 2 }, elasticPolicy: { maxRestarts: 7 } } },
      { restartPolicy: { maxRestarts: 7 } },
    ],
    [
      'the restarts of torchrun',
      { container: { command: ['torchrun', '--max-restarts', '9', 'a.py'] } },
      { restartPolicy: { maxRestarts: 9 } },
    ],
    [
      'no restart where it says Never',
      { spec: { runPolicy: { backoffLimit: 2 } }, master: { restartPolicy: 'Never' } },
      { restartPolicy: { maxRestarts: 0 } },
    ],
    [
      'restarts up to what a job can have',
      { spec: { runPolicy: { backoffLimit: 5000 } } },
      { restartPolicy: { maxRestarts: 1000 } },
    ],
    [
      'its grace, as far as a job can have it',
      { pod: { terminationGracePeriodSeconds: 90_000 } },
      { terminationGracePeriodSeconds: 3600 },
    ],
    ['that it is suspended', { spec: { runPolicy: { suspend: true } } }, { suspend: true }],
    [
      'its directory',
      { container: { workingDir: '/src' } },
      { engine: { command: ['sh', '-c', 'cd "$0" && exec "$@"', '/src', 'python3', '-u', 'train.py'] } },
    ],
    [
      'degrees of Megatron',
      {
        container: {
          command: ['torchrun', 'a.py', '--tensor-model-parallel-size', '4', '--pipeline-model-parallel-size=2'],
        },
      },
      { layout: { tensorParallelDegree: 4, pipelineParallelDegree: 2, dataParallelDegree: 1 } },
    ],
    [
      'no degrees that do not divide its ranks',
      { container: { command: ['torchrun', 'a.py', '--tensor-model-parallel-size', '3'] } },
      { layout: { dataParallelDegree: 8 } },
    ],
  ])('keeps %s', (_what, change, want) => {
    expect(specOf(aPyTorchJob(change))).toMatchObject(want);
  });

  it.each<[string, Parameters<typeof aPyTorchJob>[0], RegExp]>([
    ['no program', { container: { command: undefined } }, /command.* names no program; .*ENTRYPOINT/],
    ['other devices', { container: { resources: { limits: { 'amd.com/gpu': 8 } } } }, /asks for amd.com\/gpu/],
    [
      'more GPUs than a pod can have',
      { container: { resources: { limits: { 'nvidia.com/gpu': 32 } } } },
      /32 ranks in a pod/,
    ],
    [
      'replicas that a PyTorchJob does not have',
      { spec: { pytorchReplicaSpecs: { PS: {} } } },
      /pytorchReplicaSpecs.PS is none/,
    ],
    ['no replicas', { spec: { pytorchReplicaSpecs: {} } }, /neither Master nor Worker/],
    [
      'no container of that name',
      { pod: { containers: [{ name: 'a' }, { name: 'b' }] } },
      /has no container "pytorch"/,
    ],
    ['a number where a list belongs', { container: { env: 5 } }, /env must be a list/],
    ['a memory that is none', { container: { resources: { limits: { memory: 'much' } } } }, /memory is "much"/],
    [
      'a token among its words',
      { container: { args: [TOKEN] } },
      /looks like a Hugging Face token.*Let the program read it from a variable/,
    ],
    [
      'more than a job may say',
      { container: { image: '' } },
      /values that a job does not allow:\n.*spec.engine.image/s,
    ],
  ])('is refused with %s', (_what, change, want) => {
    expect(() => importJob([aPyTorchJob(change)])).toThrow(want);
  });

  it('whose workers run another program is refused', () => {
    const template = (image: string): object => ({
      spec: { containers: [{ name: 'pytorch', image, command: ['a'] }] },
    });
    const specs = { Master: { template: template('a') }, Worker: { template: template('b') } };
    expect(() => importJob([aPyTorchJob({ spec: { pytorchReplicaSpecs: specs } })])).toThrow(
      /Worker.*image differs from that of .*Master/,
    );
  });

  it.each<[string, Parameters<typeof aPyTorchJob>[0], string, RegExp]>([
    [
      'nodeSelector',
      { pod: { nodeSelector: { a: 'b' } } },
      'nodeSelector',
      /^changed \| runtime train-pods: nodeSelector/,
    ],
    [
      'tolerations',
      { pod: { tolerations: [{ key: 'a' }] } },
      'tolerations',
      /^changed \| runtime train-pods: tolerations/,
    ],
    [
      'a toleration that pods have',
      { pod: { tolerations: [{ key: 'nvidia.com/gpu' }] } },
      'tolerations',
      /^left \| pods tolerate/,
    ],
    [
      'affinity to one value',
      {
        pod: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }],
              },
            },
          },
        },
      },
      'affinity',
      /^changed \| runtime train-pods: nodeSelector/,
    ],
    [
      'devices of EFA',
      { container: { resources: { limits: { 'nvidia.com/gpu': 8, 'vpc.amazonaws.com/efa': 16 } } } },
      'efa',
      /^changed .* without it NCCL would use TCP/,
    ],
    [
      'hostNetwork',
      { pod: { hostNetwork: true } },
      'hostNetwork',
      /^changed \| runtime train-pods: hostNetwork .*NCCL would use TCP/,
    ],
    [
      'cleanPodPolicy',
      { spec: { runPolicy: { cleanPodPolicy: 'All' } } },
      'cleanPodPolicy',
      /^left \| pods end with their attempt/,
    ],
    [
      'a range of replicas',
      { spec: { elasticPolicy: { minReplicas: 1 } } },
      'minReplicas',
      /^left \| a gang has one size .*coxswain resume/,
    ],
    [
      'a sidecar',
      {
        pod: {
          containers: [
            { name: 'pytorch', image: 'a', command: ['a'] },
            { name: 'proxy', image: 'b' },
          ],
        },
      },
      'containers[1]',
      /^changed \| runtime train-pods: containers \| a runtime gives it/,
    ],
    [
      'the policy ExitCode',
      { master: { restartPolicy: 'ExitCode' } },
      'restartPolicy',
      /^changed .*93 ends a job at once/,
    ],
    [
      'a plain program on several GPUs',
      { container: { command: ['python', 'a.py'] } },
      'command',
      /^changed .*8 times in each pod \| see that it uses the GPU of LOCAL_RANK/,
    ],
    [
      'a script of the image',
      { container: { command: ['bash', 'run.sh'], resources: {} } },
      '.command',
      /if run.sh starts ranks itself/,
    ],
    [
      'what Kubernetes replaces',
      { container: { args: ['--x', '$(NODE)'] } },
      '.args',
      /Kubernetes replaced \$\(NAME\)/,
    ],
    ['a field that nobody knows', { pod: { magic: 1 } }, 'magic', /^left \| a job has no word for it$/],
  ])('says of %s what becomes of it', (_what, change, path, want) => {
    expect(findingOf(importJob([aPyTorchJob(change)]), path)).toMatch(want);
  });
});

describe('variables of a container', () => {
  const envOf = (...env: readonly object[]): ImportedJob => importJob([aPyTorchJob({ container: { env } })]);

  it.each<[string, object, object]>([
    ['a plain one', { name: 'A', value: 'b' }, { env: [{ name: 'A', value: 'b' }] }],
    ['one without a value is empty', { name: 'A' }, { env: [{ name: 'A', value: '' }] }],
    [
      'a key of a Secret, whose name gets its prefix',
      { name: 'A', valueFrom: { secretKeyRef: { name: 'hf', key: 'k' } } },
      { secretEnv: [{ name: 'A', secret: 'job-hf', key: 'k' }] },
    ],
    [
      'a Secret of jobs',
      { name: 'A', valueFrom: { secretKeyRef: { name: 'job-hf', key: 'k', optional: true } } },
      { secretEnv: [{ name: 'A', secret: 'job-hf', key: 'k', optional: true }] },
    ],
    [
      'a plain token becomes a reference',
      { name: 'A', value: TOKEN },
      { secretEnv: [{ name: 'A', secret: 'job-train', key: 'a' }] },
    ],
    [
      'a plain password too',
      { name: 'DB_PASSWORD', value: 'x' },
      { secretEnv: [{ name: 'DB_PASSWORD', secret: 'job-train', key: 'db-password' }] },
    ],
  ])('%s', (_what, variable, want) => {
    expect(envOf(variable).job.spec.engine).toMatchObject(want);
  });

  it.each<[string, object, RegExp]>([
    ['what ranks are told', { name: 'MASTER_PORT', value: '1' }, /^left \| Coxswain sets \S+ for each rank/],
    ['what torchrun is told', { name: 'PET_NNODES', value: '1' }, /^left \| Coxswain sets \S+ for each rank/],
    ['names of the operator', { name: 'COXSWAIN_X', value: '1' }, /^left .*written by the operator/],
    [
      'the name of the pod',
      { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      /^left .*let the program read COXSWAIN_POD_NAME/,
    ],
    [
      'a key of a ConfigMap',
      { name: 'A', valueFrom: { configMapKeyRef: { name: 'a', key: 'b' } } },
      /^left .*write the value into engine.env A/,
    ],
  ])('%s are left', (_what, variable, want) => {
    const imported = envOf(variable);
    expect(imported.job.spec.engine).not.toHaveProperty('env');
    expect(findingOf(imported, 'env[0]')).toMatch(want);
  });

  it('those before torchrun in a script are kept, apart from what ranks are told', () => {
    const script = 'CUDA_VISIBLE_DEVICES=0 A=1 B=2 torchrun a.py';
    const env = [{ name: 'B', value: '3' }];
    expect(specOf(aPyTorchJob({ container: { command: ['sh', '-c', script], env } })).engine.env).toEqual([
      { name: 'A', value: '1' },
      { name: 'B', value: '3' },
    ]);
    const secret = aPyTorchJob({ container: { command: ['sh', '-c', 'DB_PASSWORD=x torchrun a.py'] } });
    expect(() => importJob([secret])).toThrow(/looks like a credential/);
  });

  it('of two with one name the later counts', () => {
    expect(envOf({ name: 'A', value: '1' }, { name: 'A', value: '2' }).job.spec.engine.env).toEqual([
      { name: 'A', value: '2' },
    ]);
  });

  it('no credential stands in what is written or said', () => {
    expect(JSON.stringify(envOf({ name: 'A', value: TOKEN }))).not.toContain(TOKEN);
  });
});

describe('volumes of a pod', () => {
  const claim = (name: string, extra: object = {}): object => ({
    name,
    persistentVolumeClaim: { claimName: `${name}-claim`, ...extra },
  });
  const podOf = (volumes: readonly object[], mounts: readonly object[], args: readonly string[] = []): ImportedJob =>
    importJob([
      aPyTorchJob({
        pod: { volumes, containers: [{ name: 'pytorch', image: 'a', command: ['a'], args, volumeMounts: mounts }] },
      }),
    ]);

  it('what is only read is data, what else is mounted is saved to, and the program is told where', () => {
    const { spec } = podOf(
      [claim('in'), claim('out')],
      [
        { name: 'in', mountPath: '/in', readOnly: true, subPath: 'books' },
        { name: 'out', mountPath: '/in/out/' },
      ],
      ['--in=/in', '/in/out/x', '/inner', 's3://in/in'],
    ).job;
    expect(spec.data).toEqual({ claimName: 'in-claim', path: 'books' });
    expect(spec.checkpoint).toEqual({ claimName: 'out-claim' });
    expect(spec.engine.command).toEqual([
      'a',
      '--in=/coxswain/data/books',
      '/coxswain/checkpoints/x',
      '/inner',
      's3://in/in',
    ]);
  });

  it.each<[string, string, string, 'data' | 'checkpoint']>([
    ['one claim that is called a dataset', 'dataset', '/x', 'data'],
    ['one claim that is mounted as a dataset', 'pvc', '/workspace/dataset', 'data'],
    ['one claim that is called data, and may hold everything', 'data', '/x', 'checkpoint'],
  ])('%s', (_what, name, mountPath, want) => {
    expect(podOf([claim(name)], [{ name, mountPath }]).job.spec[want]).toMatchObject({ claimName: `${name}-claim` });
  });

  it('keys of a Secret are files, and the program is told where', () => {
    const volume = { name: 's', secret: { secretName: 'store', items: [{ key: 'k', path: 'cred' }] } };
    const { engine } = podOf([volume], [{ name: 's', mountPath: '/etc/s' }], ['/etc/s/cred']).job.spec;
    expect(engine.secretFiles).toEqual([{ secret: 'job-store', key: 'k' }]);
    expect(engine.command).toEqual(['a', '/coxswain/secrets/job-store/k']);
  });

  it.each<[string, object, string, RegExp]>([
    ['shared memory', { name: 'v', emptyDir: { medium: 'Memory' } }, '/dev/shm', /^changed \| \/dev\/shm/],
    ['scratch', { name: 'v', emptyDir: {} }, '/tmp/x', /^taken .*scratch/],
    ['scratch with a bound', { name: 'v', emptyDir: { sizeLimit: '5Gi' } }, '/x', /^taken .*scratch.sizeLimit 5Gi/],
    ['a bound that a job cannot say', { name: 'v', emptyDir: { sizeLimit: '5G' } }, '/x', /^changed .*was left out/],
    ['memory in place of a disk', { name: 'v', emptyDir: { medium: 'Memory' } }, '/ram', /^left .*own \/ram/],
    ['a ConfigMap', { name: 'v', configMap: { name: 'c' } }, '/x', /^changed \| runtime train-pods: volumes/],
    ['shared memory of the node', { name: 'v', hostPath: { path: '/dev/shm' } }, '/dev/shm', /^changed \| \/dev\/shm/],
    [
      'devices of InfiniBand',
      { name: 'v', hostPath: { path: '/dev/infiniband' } },
      '/dev/infiniband',
      /^changed .*would use TCP/,
    ],
    [
      'a Secret without keys',
      { name: 'v', secret: { secretName: 'x' } },
      '/x',
      /^left .*name them in engine.secretFiles/,
    ],
    ['a path of the node', { name: 'v', hostPath: { path: '/x' } }, '/x', /^changed \| runtime train-pods: volumes/],
  ])('says of %s what becomes of it', (_what, volume, mountPath, want) => {
    expect(findingOf(podOf([volume], [{ name: 'v', mountPath }]), 'volumes[0]')).toMatch(want);
  });

  it('one scratch volume is kept, and the program is told where', () => {
    const volumes = [
      { name: 's', emptyDir: { sizeLimit: '5Gi' } },
      { name: 't', emptyDir: {} },
    ];
    const mounts = [
      { name: 's', mountPath: '/scratch' },
      { name: 't', mountPath: '/tmp' },
    ];
    const imported = podOf(volumes, mounts, ['--tmp=/scratch/x']);
    expect(imported.job.spec.scratch).toEqual({ sizeLimit: '5Gi' });
    expect(imported.job.spec.engine.command).toEqual(['a', '--tmp=/coxswain/scratch/x']);
    expect(findingOf(imported, 'volumes[1]')).toMatch(/^left .*one scratch volume/);
  });

  it('a third claim is left', () => {
    const names = ['a', 'b', 'c'];
    const imported = podOf(
      names.map((name) => claim(name)),
      names.map((name) => ({ name, mountPath: `/${name}` })),
    );
    expect(findingOf(imported, 'volumes[2]')).toMatch(/^left \| a job mounts one claim to read/);
  });
});

describe('a TrainJob', () => {
  it.each<[string, readonly unknown[], object]>([
    [
      'what it says itself',
      [aTrainJob()],
      { engine: { image: 'example.com/train:1' }, layout: { dataParallelDegree: 8 } },
    ],
    [
      'what its runtime says, where it says nothing',
      [aTrainJob({ trainer: { image: undefined, numNodes: undefined } }), aRuntime()],
      { engine: { image: 'example.com/runtime:1' }, layout: { dataParallelDegree: 12 } },
    ],
    [
      'its own before that of its runtime',
      [aRuntime({ container: { command: ['b'] } }), aTrainJob()],
      { engine: { image: 'example.com/train:1', command: ['python3', '-u', 'train.py'] } },
    ],
    [
      'variables of both',
      [
        aTrainJob({ trainer: { env: [{ name: 'A', value: '2' }] } }),
        aRuntime({
          container: {
            env: [
              { name: 'A', value: '1' },
              { name: 'B', value: '1' },
            ],
          },
        }),
      ],
      {
        engine: {
          env: [
            { name: 'B', value: '1' },
            { name: 'A', value: '2' },
          ],
        },
      },
    ],
    ['its number of processes', [aTrainJob({ trainer: { numProcPerNode: 2 } })], { resources: { gpusPerNode: 2 } }],
    [
      'a runtime in a list',
      [{ kind: 'List', apiVersion: 'v1', items: [aTrainJob(), aRuntime()] }],
      { layout: { dataParallelDegree: 8 } },
    ],
    [
      'patches of its pods',
      [
        aTrainJob({
          spec: {
            runtimePatches: [
              {
                manager: 'a',
                trainingRuntimeSpec: {
                  template: {
                    spec: {
                      replicatedJobs: [
                        {
                          name: 'node',
                          template: { spec: { template: { spec: { terminationGracePeriodSeconds: 9 } } } },
                        },
                      ],
                    },
                  },
                },
              },
            ],
          },
        }),
      ],
      { terminationGracePeriodSeconds: 9 },
    ],
    [
      'overrides of the older form',
      [
        aTrainJob({
          spec: {
            podTemplateOverrides: [{ targetJobs: [{ name: 'node' }], spec: { terminationGracePeriodSeconds: 8 } }],
          },
        }),
      ],
      { terminationGracePeriodSeconds: 8 },
    ],
  ])('keeps %s', (_what, documents, want) => {
    expect(specOf(...documents)).toMatchObject(want);
  });

  it.each<[string, readonly unknown[], RegExp]>([
    [
      'a program that only its runtime knows',
      [aTrainJob({ trainer: { command: undefined } })],
      /kubectl get clustertrainingruntime torch-distributed -o yaml\) >> FILE/,
    ],
    [
      'a runtime of MPI',
      [aTrainJob(), aRuntime({ spec: { mlPolicy: { mpi: {} } } })],
      /mlPolicy.mpi starts its ranks with mpirun/,
    ],
    ['a runtime that trains nothing', [aTrainJob(), aRuntime({ spec: { template: {} } })], /has none that trains/],
  ])('is refused with %s', (_what, documents, want) => {
    expect(() => importJob(documents)).toThrow(want);
  });
});

describe('other files', () => {
  it.each<[string, readonly unknown[], RegExp]>([
    ['an MPIJob without workers', [{ apiVersion: 'kubeflow.org/v2beta1', kind: 'MPIJob' }], /has no Worker/],
    ['a TFJob', [{ apiVersion: 'kubeflow.org/v1', kind: 'TFJob' }], /parameter servers/],
    ['a RayJob', [{ apiVersion: 'ray.io/v1', kind: 'RayJob' }], /Jobs of several roles.*are to come/],
    ['a CronJob', [{ apiVersion: 'batch/v1', kind: 'CronJob' }], /does not describe ranks/],
    ['a JobSet of nothing', [{ apiVersion: 'jobset.x-k8s.io/v1alpha2', kind: 'JobSet' }], /replicatedJobs is empty/],
    [
      'a Job without ranks',
      [{ apiVersion: 'batch/v1', kind: 'Job', spec: { completions: 4, parallelism: 4 } }],
      /completionMode is not Indexed/,
    ],
    ['a kind that is not known', [{ apiVersion: 'a/v1', kind: 'B' }], /Recognised: a PyTorchJob, /],
    [
      'objects without a job',
      [
        { apiVersion: 'v1', kind: 'Service' },
        { apiVersion: 'v1', kind: 'ConfigMap' },
      ],
      /None of the 2 objects of the file is a job/,
    ],
    [
      'an older PyTorchJob',
      [{ apiVersion: 'kubeflow.org/v1beta2', kind: 'PyTorchJob' }],
      /only kubeflow.org\/v1 is known/,
    ],
    ['a job of ours', [{ apiVersion: 'training.coxswain.dev/v1alpha1', kind: 'TrainingJob' }], /coxswain submit -f/],
    ['a runtime alone', [aRuntime()], /without a TrainJob/],
    ['two jobs', [aPyTorchJob(), aTrainJob()], /holds 2 jobs/],
    ['nothing', [null], /is empty/],
    ['no object', ['x'], /no apiVersion and kind/],
  ])('%s: refused', (_what, documents, want) => {
    expect(() => importJob(documents)).toThrow(want);
  });
});
