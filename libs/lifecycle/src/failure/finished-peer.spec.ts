import type { TerminationCause, TrainingJob } from '@coxswain/api-types';
import type { ObservedPod } from '../observation/observed.ts';
import { anExit, aPod } from '../testing/index.ts';
import { anAttempt, aRunningJob, EARLIER, settled } from '../testing/jobs.ts';

const LOST = ['RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.2]:4321'];
const OWN = ['ValueError: planted'];

const failedPod = (job: TrainingJob, podIndex: number, cause: Partial<TerminationCause>): ObservedPod =>
  aPod(job, { podIndex, phase: 'Failed', running: false, exit: anExit({}, { lastLines: LOST, ...cause }) });

describe('ranks that lost their connection to a peer', () => {
  it.each<
    [
      string,
      (job: TrainingJob) => readonly ObservedPod[],
      RegExp,
      { readonly rank: number; readonly node: string; readonly exitCode: number },
    ]
  >([
    [
      'name the rank of their own pod that had finished',
      (job) => [failedPod(job, 0, { rank: 0 }), failedPod(job, 1, { rank: 3, finishedRanks: '2' })],
      /^Rank 2 finished with exit code 0 before the other ranks, which then lost their connections to it\. Rank \d /,
      { rank: 2, node: 'node-b', exitCode: 0 },
    ],
    [
      'name the ranks of a pod that had finished',
      (job) => [failedPod(job, 0, { rank: 0 }), aPod(job, { podIndex: 1, phase: 'Succeeded', running: false })],
      /^Ranks 2-3 finished with exit code 0 before the other ranks, which then lost their connections to them\. Rank 0 /,
      { rank: 2, node: 'node-b', exitCode: 0 },
    ],
    [
      'do not hide a rank that failed by itself',
      (job) => [failedPod(job, 0, { rank: 0, lastLines: OWN }), failedPod(job, 1, { rank: 3, finishedRanks: '2' })],
      /^Rank 0 on node node-a exited/,
      { rank: 0, node: 'node-a', exitCode: 1 },
    ],
  ])('%s', (_sentence, pods, message, where) => {
    const { status } = settled(aRunningJob({ status: { attempts: [anAttempt({ runningAt: EARLIER })] }, pods }));
    expect(status.attempts?.[0]).toMatchObject({ reason: 'EngineFailed', charged: true });
    expect(status.attempts?.[0]?.message).toMatch(message);
    const { exitCode, ...place } = where;
    expect(status.incidents?.[0]).toMatchObject(place);
    expect(status.attempts?.[0]?.origin).toMatchObject({ ...place, exitCode });
  });
});
