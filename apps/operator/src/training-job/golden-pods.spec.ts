import { plainly } from '@coxswain/engines';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { readRuntime } from '@coxswain/runtime';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { toPod } from './pod-manifest.ts';

const DIRECTORY = join(import.meta.dirname, '../../../../examples/runtimes');

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
  const pod = toPod({ job, placement: { spec } }, 0, {
    name: 'tiny-gpt-3f1c2b9e-e1-abc123-0',
    launcherImage: 'coxswain/launcher:1',
    reportUrls: ['https://coxswain-operator:9443'],
    reportCaPem: 'CA',
    user: 65532,
    engine: plainly(['python3', 'train.py'], {}),
  });
  return stringify(pod, { lineWidth: 0, aliasDuplicateObjects: false });
}

describe('a pod, whole, as it is made with the runtime that is shown for a platform', () => {
  it.each(readdirSync(DIRECTORY).toSorted())('%s', (file) => {
    expect(podWith(file)).toMatchSnapshot();
  });
});
