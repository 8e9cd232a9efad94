import { KeptLogBounds, POD_ENV, type TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { plainly } from '@coxswain/engines';
import { type PodContext, toPod } from './pod-manifest.ts';

const CONTEXT: PodContext = {
  name: 'tiny-gpt-e2-0',
  launcherImage: 'coxswain/launcher:dev',
  reportUrls: ['https://a:9443'],
  reportCaPem: 'CA',
  user: undefined,
  engine: plainly(['python3'], {}),
  keptLogs: KeptLogBounds.parse({}),
};

interface Pod {
  readonly spec: {
    readonly containers: readonly {
      readonly env: readonly { readonly name: string; readonly value?: string }[];
      readonly resources: { readonly limits: object };
    }[];
    readonly volumes: readonly object[];
  };
}

function podOf(spec: Partial<TrainingJob['spec']>, context = CONTEXT): Pod {
  const job = aTrainingJob({ spec });
  const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 };
  const gang = { jobName: 'tiny-gpt', jobUid: job.metadata.uid, epoch: 2, worldSize: 1, ranksPerPod: 1 };
  return toPod({ job, placement: { spec: { ...gang, layout, nodes: ['a'] } } }, 0, context) as unknown as Pod;
}

function envOf(spec: Partial<TrainingJob['spec']>, context = CONTEXT): Readonly<Record<string, string | undefined>> {
  const { env = [] } = podOf(spec, context).spec.containers[0] ?? {};
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

describe('a pod', () => {
  const secretEnv = [
    { name: 'HF', secret: 'job-hf', key: 'token', optional: false },
    { name: 'WANDB', secret: 'job-wandb', key: 'key', optional: false },
  ];

  it('keeps logs beside its checkpoints', () => {
    expect(JSON.parse(envOf({})[POD_ENV.keptLogs] ?? '')).toEqual(CONTEXT.keptLogs);
  });

  it.each([
    ['of a job without checkpoints', { checkpoint: undefined }, CONTEXT],
    ['where an administrator wants none', {}, { ...CONTEXT, keptLogs: KeptLogBounds.parse({ rankBytes: 0 }) }],
  ])('%s keeps none', (_which, spec, context) => {
    expect(envOf(spec, context)).not.toHaveProperty(POD_ENV.keptLogs);
  });

  it('knows the variables whose values are masked in its logs', () => {
    const engine = { ...aTrainingJob().spec.engine, secretEnv };
    expect(envOf({ engine })[POD_ENV.secretVariables]).toBe('HF,WANDB');
    expect(envOf({})).not.toHaveProperty(POD_ENV.secretVariables);
  });

  it.each(['WhenPossible', 'Never', undefined] as const)(
    'has restartPolicy.preloadPyTorch as its job has it: %s',
    (value) => {
      const preloadPyTorch = value === undefined ? {} : { preloadPyTorch: value };
      const restartPolicy = { ...aTrainingJob().spec.restartPolicy, ...preloadPyTorch };
      expect(envOf({ restartPolicy })[POD_ENV.preloadPyTorch]).toBe(value);
    },
  );

  it('requests room for the saves in memory of its ranks, in its memory and in what they share', () => {
    const checkpoint = { claimName: 'c', path: '', everySteps: 1, memory: { everySteps: 10, sizePerGpu: '10Gi' } };
    const resources = { memoryPerGpu: '80Gi' };
    const { spec } = podOf({ checkpoint, resources });
    expect(spec.containers[0]?.resources.limits).toMatchObject({ memory: '102400Mi' });
    expect(spec.volumes).toContainEqual({
      name: 'coxswain-shared-memory',
      emptyDir: { medium: 'Memory', sizeLimit: '40960Mi' },
    });
    const bounds = { everySteps: 10, bytes: 10 * 2 ** 30 };
    expect(JSON.parse(envOf({ checkpoint, resources })[POD_ENV.memorySaves] ?? '')).toEqual(bounds);
    expect(envOf({})).not.toHaveProperty(POD_ENV.memorySaves);
  });
});
