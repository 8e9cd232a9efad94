import type { FailureOrigin, TrainingJob } from '@coxswain/api-types';
import { decide } from '../decide/decide.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { anExit, aPod } from '../testing/index.ts';
import { aRunningJob, NOW } from '../testing/jobs.ts';

describe('the origin of a failure', () => {
  it.each<[string, Partial<ObservedPod>, FailureOrigin]>([
    [
      'is rank, pod, node and exit code',
      { podIndex: 1, exit: anExit({}, { node: 'node-b', rank: 3 }) },
      { rank: 3, pod: 'tiny-gpt-3f1c2b9e-e1-1', node: 'node-b', exitCode: 1 },
    ],
    [
      'has the signal that ended the rank',
      { exit: anExit({ exitCode: 137 }, { exitCode: 137, signal: 'SIGKILL' }) },
      { rank: 1, pod: 'tiny-gpt-3f1c2b9e-e1-0', node: 'node-a', exitCode: 137, signal: 'SIGKILL' },
    ],
    [
      'has no exit of a pod that ended without one',
      { disruption: 'EvictionByEvictionAPI' },
      { pod: 'tiny-gpt-3f1c2b9e-e1-0', node: 'node-a' },
    ],
  ])('%s', (_sentence, pod, want) => {
    const pods = (job: TrainingJob): readonly ObservedPod[] =>
      [0, 1].map((podIndex) => {
        const hasFailed = podIndex === (pod.podIndex ?? 0);
        return aPod(job, { podIndex, ...(hasFailed ? { phase: 'Failed', ...pod } : {}) });
      });
    expect(decide(aRunningJob({ pods }), NOW).status.attempts?.at(-1)?.origin).toEqual(want);
  });
});
