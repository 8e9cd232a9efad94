import type { PlacementSpec } from '@coxswain/api-types';
import { plainly } from '@coxswain/engines';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { readRuntime } from '@coxswain/runtime';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { type PodContext, toPod } from './pod-manifest.ts';

const DIRECTORY = join(import.meta.dirname, '../../../../examples/runtimes');

const CONTEXT: PodContext = {
  name: 'tiny-gpt-3f1c2b9e-e1-abc123-0',
  launcherImage: 'coxswain/launcher:1',
  reportUrls: ['https://coxswain-operator:9443'],
  reportCaPem: 'CA',
  user: 65532,
  engine: plainly(['python3', 'train.py'], {}),
};

/** The first pod of a job of 16 ranks on two nodes, with that runtime. */
function podWith(file: string): string {
  const { usable } = readRuntime(parse(readFileSync(join(DIRECTORY, file), 'utf8')) as never);
  if (usable.kind === 'refused') throw new Error(usable.message);
  const job = aTrainingJob();
  const spec = {
    jobName: job.metadata.name,
    jobUid: job.metadata.uid,
    epoch: 1,
    layout: { tensorParallelDegree: 8, pipelineParallelDegree: 1, dataParallelDegree: 2 },
    worldSize: 16,
    ranks: ['0-7', '8-15'],
    nodes: ['node-a', 'node-b'],
    runtime: usable.snapshot,
  };
  const pod = toPod({ job, placement: { spec } }, 0, CONTEXT);
  return stringify(pod, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Variables of the trainer that NCCL reads, in the pods of a gang of one rank for each of two classes of NICs. */
function ncclOf(placement: Pick<PlacementSpec, 'network'>): readonly Readonly<Record<string, string>>[] {
  const { usable } = readRuntime({
    apiVersion: 'training.coxswain.dev/v1alpha1',
    kind: 'ClusterTrainingRuntime',
    metadata: { name: 'two-classes', uid: 'u', generation: 1 },
    spec: {
      nicEnvironments: ['infiniband', 'roce'].map((nicClass) => ({
        nicClass,
        env: [
          { name: 'NCCL_NET', value: 'IB' },
          { name: 'NCCL_SOCKET_IFNAME', value: `eth-of-${nicClass}` },
        ],
      })),
    },
  } as never);
  if (usable.kind === 'refused') throw new Error(usable.message);
  const job = aTrainingJob();
  const spec = {
    jobName: job.metadata.name,
    jobUid: job.metadata.uid,
    epoch: 1,
    layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 2 },
    worldSize: 2,
    ranks: ['0', '1'],
    nodes: ['node-a', 'node-b'],
    nicClasses: ['infiniband', 'roce'],
    runtime: usable.snapshot,
    ...placement,
  };
  return [0, 1].map((podIndex) => {
    const pod = toPod({ job, placement: { spec } }, podIndex, { ...CONTEXT, name: `tiny-gpt-e1-${podIndex}` });
    const { containers } = pod['spec'] as { containers: { env: { name: string; value?: string }[] }[] };
    const variables = containers[0]?.env.filter(({ name }) => name.startsWith('NCCL_')) ?? [];
    expect(new Set(variables.map(({ name }) => name)).size).toBe(variables.length);
    return Object.fromEntries(variables.map(({ name, value = '' }) => [name, value]));
  });
}

describe('pods of a gang whose nodes have NICs of two classes', () => {
  it('have each the variables of its node', () => {
    expect(ncclOf({})).toMatchObject([
      { NCCL_NET: 'IB', NCCL_SOCKET_IFNAME: 'eth-of-infiniband' },
      { NCCL_NET: 'IB', NCCL_SOCKET_IFNAME: 'eth-of-roce' },
    ]);
  });

  it('use sockets alike where they are in several islands, whatever their runtime says; interfaces are still those of the node', () => {
    const alike = { NCCL_NET: 'Socket', NCCL_IB_DISABLE: '1' };
    expect(ncclOf({ network: 'Sockets' })).toMatchObject([
      { ...alike, NCCL_SOCKET_IFNAME: 'eth-of-infiniband' },
      { ...alike, NCCL_SOCKET_IFNAME: 'eth-of-roce' },
    ]);
  });
});

describe('a pod, whole, as it is made with the runtime that is shown for a platform', () => {
  it.each(readdirSync(DIRECTORY).toSorted())('%s', (file) => {
    expect(podWith(file)).toMatchSnapshot();
  });
});
