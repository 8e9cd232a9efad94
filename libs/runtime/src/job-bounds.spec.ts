import type { NicEnvironment, TrainingRuntime } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { readRuntime, runtimeRefusal } from './index.ts';

/** What is said of a job that uses the runtime `lab` with that spec. */
function refusalOf(runtime: object, job: Parameters<typeof aJobSpec>[0] = {}): string | undefined {
  const object = {
    apiVersion: 'training.coxswain.dev/v1alpha1',
    kind: 'ClusterTrainingRuntime',
    metadata: { name: 'lab', uid: 'u' },
    spec: runtime,
  } as unknown as TrainingRuntime;
  return runtimeRefusal({ namespace: 'research', spec: aJobSpec(job) }, readRuntime(object));
}
const engine = (more: object) => ({ engine: { ...aJobSpec().engine, ...more } });
const image = (name: string) => engine({ image: name });
const jobs = (bounds: object) => ({ jobs: bounds });
const ofRegistry = jobs({ images: ['registry.example.com/', 'nvcr.io/nvidia/pytorch'] });

describe('a runtime', () => {
  it.each<[string, object, Parameters<typeof aJobSpec>[0]]>([
    ['an image of its registry', ofRegistry, image('registry.example.com/team/image:1')],
    ['an image that it names, of whatever tag', ofRegistry, image('nvcr.io/nvidia/pytorch:26.09-py3')],
    ['an image that it names, by digest', ofRegistry, image('nvcr.io/nvidia/pytorch@sha256:0a')],
    ['its engine', { engine: { name: 'reference', release: '0.1' } }, {}],
    [
      'variables that it does not refuse',
      jobs({ refusedVariables: ['NCCL_'] }),
      engine({ env: [{ name: 'A_NCCL_', value: '1' }] }),
    ],
    ['whole nodes', jobs({ gpusPerNode: 2 }), { resources: { gpusPerNode: 2 } }],
    [
      'no word of memory, where the template bounds it',
      {
        ...jobs({ maxMemoryPerGpu: '1Gi' }),
        template: { spec: { containers: [{ name: 'trainer', resources: { limits: { memory: '8Gi' } } }] } },
      },
      {},
    ],
    ['as many processors as it allows', jobs({ maxCpuPerGpu: '8' }), { resources: { cpuPerGpu: '8000m' } }],
    ['less memory than it allows', jobs({ maxMemoryPerGpu: '1Ti' }), { resources: { memoryPerGpu: '1023Gi' } }],
  ])('takes a job with %s', (_what, runtime, job) => {
    expect(refusalOf(runtime, job)).toBeUndefined();
  });

  it.each<[string, object, Parameters<typeof aJobSpec>[0], RegExp]>([
    [
      'of another registry',
      ofRegistry,
      image('docker.io/team/image:1'),
      /^engine\.image "docker\.io\/team\/image:1" cannot be used with ClusterTrainingRuntime lab, which allows images of "registry\.example\.com\/", "nvcr/,
    ],
    [
      'whose registry begins like its own',
      jobs({ images: ['nvcr.io/nvidia/pytorch'] }),
      image('nvcr.io/nvidia/pytorch-evil:1'),
      /cannot be used/,
    ],
    [
      'whose registry is called like its image',
      jobs({ images: ['pytorch'] }),
      image('pytorch:5000/evil/image'),
      /cannot be used/,
    ],
    [
      'with an image, where it gives the only one',
      { ...jobs({ images: [] }), template: { spec: { containers: [{ name: 'trainer', image: 'own' }] } } },
      image('other'),
      /allows only its own image; leave engine\.image out/,
    ],
    [
      'of another engine',
      { engine: { name: 'command', release: '2' } },
      {},
      /^engine\.name is "reference", and ClusterTrainingRuntime lab is for "command" 2; name that engine/,
    ],
    [
      'with a variable that it refuses',
      jobs({ refusedVariables: ['NCCL_', 'FI_'] }),
      engine({ env: [{ name: 'FI_PROVIDER', value: 'x' }] }),
      /^variable FI_PROVIDER cannot be set .* begin with "NCCL_", "FI_"; leave it out/,
    ],
    [
      'with such a variable of a Secret',
      jobs({ refusedVariables: ['NCCL_'] }),
      engine({ secretEnv: [{ name: 'NCCL_A', secret: 'job-a', key: 'a' }] }),
      /^variable NCCL_A cannot be set/,
    ],
    [
      'with parts of nodes',
      jobs({ gpusPerNode: 8 }),
      { resources: { gpusPerNode: 4 } },
      /^resources\.gpusPerNode is 4, and ClusterTrainingRuntime lab gives whole nodes of 8; set it to 8/,
    ],
    ['that does not say how much of a node', jobs({ gpusPerNode: 8 }), {}, /^resources\.gpusPerNode is not given/],
    [
      'that fills its last node in part',
      jobs({ gpusPerNode: 8 }),
      { resources: { gpusPerNode: 8 } },
      /^the job has 4 GPUs, and ClusterTrainingRuntime lab gives whole nodes of 8; ask for a multiple of 8$/,
    ],
    [
      'that takes all memory of a node by saying nothing of it',
      jobs({ maxMemoryPerGpu: '64Gi' }),
      {},
      /^resources\.memoryPerGpu is not given, and ClusterTrainingRuntime lab allows 64Gi at most/,
    ],
    [
      'that takes all processors so',
      jobs({ maxCpuPerGpu: '8' }),
      {},
      /^resources\.cpuPerGpu is not given, and ClusterTrainingRuntime lab allows 8 at most/,
    ],
    [
      'that may use sockets, where a script may choose another network',
      { sourceScript: '/opt/nccl-env.sh' },
      { resources: { acrossIslands: 'Sockets' } },
      /^resources\.acrossIslands is Sockets, and ClusterTrainingRuntime lab sources \/opt\/nccl-env\.sh in every rank.*; leave/,
    ],
    [
      'with networks for its groups, where a variable overrides them',
      { nicEnvironments: [{ nicClass: 'infiniband', env: [{ name: 'NCCL_NET', value: 'IB' }] }] },
      { layout: { ...aJobSpec().layout, communication: { groupNetwork: { pipeline: 'socket' } } } },
      /^layout\.communication\.groupNetwork gives groups .* lab sets NCCL_NET, which overrides them; leave/,
    ],
    [
      'with more processors',
      jobs({ maxCpuPerGpu: '7500m' }),
      { resources: { cpuPerGpu: '8' } },
      /^resources\.cpuPerGpu 8 is more than the 7500m that/,
    ],
    [
      'with more memory',
      jobs({ maxMemoryPerGpu: '64Gi' }),
      { resources: { memoryPerGpu: '65Gi' } },
      /^resources\.memoryPerGpu 65Gi is more than the 64Gi that/,
    ],
    [
      'with more memory, because it keeps saves in memory',
      jobs({ maxMemoryPerGpu: '64Gi' }),
      {
        resources: { memoryPerGpu: '60Gi' },
        checkpoint: { claimName: 'checkpoints', memory: { everySteps: 10, sizePerGpu: '3Gi' } },
      },
      /^resources\.memoryPerGpu 67584Mi with checkpoint\.memory is more than the 64Gi that/,
    ],
  ])('refuses a job %s', (_what, runtime, job, sentence) => {
    expect(refusalOf(runtime, job)).toMatch(sentence);
  });
});

describe('variables for the NICs of a node', () => {
  const nics = (...nicEnvironments: NicEnvironment[]) => ({ nicEnvironments });
  const ib = { nicClass: 'infiniband', env: [{ name: 'NCCL_IB_HCA', value: 'mlx5' }] };

  it('are the runtime’s: a job that sets one too is refused', () => {
    expect(refusalOf(nics(ib), engine({ env: [{ name: 'NCCL_IB_HCA', value: 'x' }] }))).toMatch(
      /^variable NCCL_IB_HCA is set by ClusterTrainingRuntime lab/,
    );
  });

  it.each<[string, object, RegExp]>([
    [
      'for one class twice',
      nics(ib, { ...ib, nicClass: 'InfiniBand' }),
      /nicEnvironments\[InfiniBand\] cannot be set: another entry has the same class/,
    ],
    [
      'that are the operator’s',
      nics({ ...ib, env: [{ name: 'COXSWAIN_EPOCH', value: '1' }] }),
      /nicEnvironments\.0\.env\.0\.name names that start with COXSWAIN_ are written by the operator/,
    ],
    ['twice', nics({ ...ib, env: [...ib.env, ...ib.env] }), /env NCCL_IB_HCA cannot be set: it is listed twice/],
    [
      'that the template has too',
      { ...nics(ib), template: { spec: { containers: [{ name: 'trainer', env: ib.env }] } } },
      /env NCCL_IB_HCA cannot be set: the trainer of the template sets it already/,
    ],
  ])('cannot be given %s', (_what, runtime, sentence) => {
    expect(refusalOf(runtime)).toMatch(sentence);
  });
});
