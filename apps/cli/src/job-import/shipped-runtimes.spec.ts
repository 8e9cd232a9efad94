import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { importJob } from './import-job.ts';
import { SHIPPED_RUNTIMES } from './shipped-runtimes.ts';
import { aPyTorchJob } from './testing/documents.ts';

const DIRECTORY = join(import.meta.dirname, '../../../../examples/runtimes');
type Found = { readonly metadata: { readonly name: string } };

it.each(SHIPPED_RUNTIMES)(
  '$file is the runtime $name, with what import knows of it',
  ({ name, file, device, count, daemon, annotation, nodeSelector = {} }) => {
    const text = readFileSync(join(DIRECTORY, file), 'utf8');
    expect((parse(text) as Found).metadata.name).toBe(name);
    const parts = [
      device === undefined ? '' : `${device}: ${count}`,
      daemon ?? '',
      annotation ?? '',
      ...Object.entries(nodeSelector).map(([key, value]) => `${key}: ${value}`),
    ];
    for (const part of parts) expect(text).toContain(part);
  },
);

describe('the runtime of an imported job', () => {
  const limits = (devices: object): Readonly<Record<string, unknown>> => ({
    resources: { limits: { 'nvidia.com/gpu': 8, ...devices } },
  });

  it('is a shipped one if that holds everything', () => {
    const { job, runtime } = importJob([aPyTorchJob({ container: limits({ 'vpc.amazonaws.com/efa': 32 }) })]);
    expect([job.spec.runtimeRef, runtime]).toEqual([{ name: 'efa-p5' }, undefined]);
  });

  it('is written for an administrator if the pods have more', () => {
    const pod = { tolerations: [{ key: 'pool', operator: 'Exists' }], hostNetwork: true };
    const { job, runtime } = importJob([aPyTorchJob({ pod, container: limits({ 'vpc.amazonaws.com/efa': 32 }) })]);
    expect(job.spec.runtimeRef).toEqual({ name: 'train-pods' });
    expect(runtime).toMatchObject({
      kind: 'ClusterTrainingRuntime',
      metadata: { name: 'train-pods' },
      spec: {
        template: {
          spec: {
            ...pod,
            containers: [{ name: 'trainer', resources: { limits: { 'vpc.amazonaws.com/efa': 32 } } }],
          },
        },
      },
    });
  });

  it('is one of the namespace if that may hold it', () => {
    const { job, runtime } = importJob([aPyTorchJob({ pod: { nodeSelector: { pool: 'a' } } })]);
    expect([job.spec.runtimeRef, runtime?.kind]).toEqual([
      { kind: 'TrainingRuntime', name: 'train-pods' },
      'TrainingRuntime',
    ]);
  });

  it('is absent if the pods have nothing beyond the job', () => {
    expect(importJob([aPyTorchJob()]).job.spec).not.toHaveProperty('runtimeRef');
  });

  it('is absent if the pods mount shared memory of the node, because every pod has shared memory', () => {
    const pod = {
      volumes: [{ name: 'shm', hostPath: { path: '/dev/shm' } }],
      containers: [
        { name: 'pytorch', image: 'a', command: ['a'], volumeMounts: [{ name: 'shm', mountPath: '/dev/shm' }] },
      ],
    };
    expect(importJob([aPyTorchJob({ pod })]).job.spec).not.toHaveProperty('runtimeRef');
  });
});
