import { aJobSpec } from '@coxswain/api-types/testing';
import { API_GROUP_VERSION } from '@coxswain/api-types';
import { parseJob } from './job-file.ts';

const manifest = (changes: object): string =>
  JSON.stringify({
    apiVersion: API_GROUP_VERSION,
    kind: 'TrainingJob',
    metadata: { name: 'tiny' },
    spec: aJobSpec(),
    ...changes,
  });

function problemsOf(text: string): string {
  try {
    parseJob(text, { source: 'job.yaml' });
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

it.each([
  [
    'a program in Python',
    'import torch\nprint(1)\n',
    /^job\.yaml is a program in Python.* coxswain init --engine command/,
  ],
  [
    'a batch script',
    '#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun a.py\n',
    /^job\.yaml is a script.* coxswain import job\.yaml/,
  ],
])('%s in the place of a job file is named as such', (_what, text, want) => {
  expect(problemsOf(text)).toMatch(want);
});

describe('a job file with typos', () => {
  it.each<[string, object, string]>([
    ['none', {}, 'accepted'],
    [
      'in the spec: a field and a word, in one answer',
      { spec: { ...aJobSpec(), suspendd: true, training: { ...aJobSpec().training, precision: 'bf61' } } },
      '✖ "bf61" is not one of fp32, bf16; did you mean "bf16"?\n  → at spec.training.precision\n' +
        '✖ unknown field "suspendd"; did you mean "suspend"?\n  → at spec',
    ],
    [
      'in the place of a field',
      { spec: { ...aJobSpec(), maxRestarts: 2 } },
      '✖ unknown field "maxRestarts"; did you mean spec.restartPolicy.maxRestarts?\n  → at spec',
    ],
    [
      'in the metadata, which would be ignored in silence',
      { metadata: { name: 'tiny', lables: { team: 'vision' } } },
      '✖ unknown field "lables"; did you mean "labels"?\n  → at metadata',
    ],
    [
      'at the top',
      { spec: undefined, spce: aJobSpec() },
      '✖ unknown field "spce"; did you mean "spec"?\n  → at the manifest\n' +
        '✖ is missing; give an object\n  → at spec',
    ],
    [
      'none, as `kubectl get -o yaml` prints it',
      { metadata: { name: 'tiny', uid: 'u', resourceVersion: '1', managedFields: [], generation: 1 }, status: {} },
      'accepted',
    ],
  ])('%s', (_sentence, changes, want) => {
    expect(problemsOf(manifest(changes)).replace('job.yaml is not a valid job:\n', '')).toBe(want);
  });
});
