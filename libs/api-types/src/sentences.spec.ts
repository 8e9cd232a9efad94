/** Sentences that people read on the page, in the CLI and in conditions. */
import { nameOfRun } from './attempt.ts';
import { jobPrefix } from './child-names.ts';
import { howItEnded } from './exit-codes.ts';
import { goodputWords } from './goodput.ts';
import { incidentSubject, incidentWords, operationWords } from './incident.ts';
import { describeSecrets } from './secret-references.ts';
import { type RankSilence, silenceWords, stackHolders } from './stacks.ts';
import { runtimeName } from './training-runtime.ts';

describe('an incident', () => {
  it.each<[Parameters<typeof incidentWords>[0], string]>([
    ['Crash', 'crash'],
    ['SlowRank', 'slow rank'],
    ['NodeLeaving', 'node leaving'],
    ['RestartedInNewPods', 'restarted in new pods'],
    ['GaveUp', 'gave up'],
    ['FailedAgain', 'failed again'],
  ])('%s is written %j', (word, want) => {
    expect(incidentWords(word)).toBe(want);
  });

  it.each<[string, Parameters<typeof incidentSubject>[0]]>([
    ['Crash', { kind: 'Crash' }],
    ['Hang of rank 3', { kind: 'Hang', rank: 3 }],
    ['Hang of rank 0 on node gpu-b', { kind: 'Hang', rank: 0, node: 'gpu-b' }],
    ['Hang of rank 3 (GPU 1 of its pod) on node gpu-b', { kind: 'Hang', rank: 3, gpu: 1, node: 'gpu-b' }],
    ['Node lost on node gpu-b', { kind: 'NodeLost', gpu: 1, node: 'gpu-b' }],
    ['Slow link of ranks 3, 4', { kind: 'SlowLink', rank: 3, ranks: [3, 4] }],
    ['Slow rank of rank 3 (GPU 0 of its pod)', { kind: 'SlowRank', rank: 3, ranks: [3], gpu: 0 }],
    ['Slow job', { kind: 'SlowJob', ranks: [] }],
  ])('reads: %s', (want, incident) => {
    expect(incidentSubject(incident)).toBe(want);
  });
});

describe('the last operation of a rank', () => {
  const training = { rank: 0, phase: 'training', forMs: 5_000 } as const;
  it.each<[string, Parameters<typeof operationWords>[0]]>([
    [
      'Rank 0 waits in all_reduce 7 of group 3 (training, after step 12)',
      { ...training, step: 12, operation: 'all_reduce', group: '3', sequence: 7 },
    ],
    [
      'Rank 0 waits in all_reduce 0 of group 3 (training, after step 0)',
      { ...training, step: 0, operation: 'all_reduce', group: '3', sequence: 0 },
    ],
    [
      'Rank 5 waits in barrier 1 of group 0 (starting)',
      { rank: 5, phase: 'starting', forMs: 1, operation: 'barrier', group: '0', sequence: 1 },
    ],
    ['Rank 0 waits in barrier 2 of group ? (training)', { ...training, operation: 'barrier', sequence: 2 }],
    ['Rank 0 waits in no group (training, after step 12)', { ...training, step: 12 }],
    ['Rank 9 waits in no group (saving)', { rank: 9, phase: 'saving', forMs: 1, group: '3' }],
  ])('reads: %s', (want, operation) => {
    expect(operationWords(operation)).toBe(want);
  });
});

describe('ranks without a stack', () => {
  it.each<[string, Parameters<typeof silenceWords>[0]]>([
    [
      'Rank 5 on node gpu-b: its process is stopped by a signal (state T)',
      { ranks: '5', why: 'stopped', node: 'gpu-b' },
    ],
    ['Ranks 0-3: its process is not running', { ranks: '0-3', why: 'notRunning' }],
    ['Ranks 0,8: the launcher of its pod is not connected', { ranks: '0,8', why: 'notConnected' }],
    ['Rank 1: asleep', { ranks: '1', why: 'asleep' as RankSilence }],
    ['Rank 1: toString', { ranks: '1', why: 'toString' as RankSilence }],
  ])('are explained: %s', (want, silent) => {
    expect(silenceWords(silent)).toBe(want);
  });

  it.each<[RankSilence, string]>([
    ['noAnswer', 'holds the interpreter (the GIL)'],
    ['uninterruptible', 'state D'],
    ['noHook', 'python -I or -S'],
    ['olderHook', 'proves nothing'],
    ['launcherSilent', 'of a release that knows no stacks'],
  ])('%s names what a person looks for: %s', (why, words) => {
    expect(silenceWords({ ranks: '1', why })).toContain(words);
  });
});

describe('whose stack it is', () => {
  const main = { thread: 'MainThread', isMain: true, frames: [] };
  it.each<[string, Parameters<typeof stackHolders>[0], number]>([
    ['ranks 0-4 (5 of 8)', { ...main, ranks: '0-4', rankCount: 5 }, 8],
    ['rank 3 (1 of 8)', { ...main, ranks: '3', rankCount: 1 }, 8],
    ['rank 3', { ...main, ranks: '3', rankCount: 1 }, 1],
    ['ranks 0-7 (8 of 8), thread loader', { ...main, thread: 'loader', isMain: false, ranks: '0-7', rankCount: 8 }, 8],
    ['rank 0, thread loader', { ...main, thread: 'loader', isMain: false, ranks: '0', rankCount: 1 }, 1],
  ])('reads: %s', (want, group, of) => {
    expect(stackHolders(group, of)).toBe(want);
  });
});

describe('what people read of a job', () => {
  it.each<[Parameters<typeof goodputWords>[0], string]>([
    ['productive', 'productive'],
    ['checkpointRestore', 'checkpoint restore'],
    ['infrastructureRecovery', 'infrastructure recovery'],
    ['wastedProgress', 'wasted progress'],
    ['waiting', 'waiting'],
  ])('time spent on %s is written %j', (spent, want) => {
    expect(goodputWords(spent)).toBe(want);
  });

  it.each<[string, Parameters<typeof howItEnded>[0]]>([
    ['exited with code 1', { exitCode: 1 }],
    ['exited with code 0', { exitCode: 0, signal: undefined }],
    ['was killed by SIGKILL (exit code 137)', { exitCode: 137, signal: 'SIGKILL' }],
  ])('a process %s', (want, end) => {
    expect(howItEnded(end)).toBe(want);
  });

  it.each<[string, number, number | undefined]>([
    ['2', 2, undefined],
    ['2.1', 2, 1],
    ['2.3', 2, 3],
  ])('a run is named %s', (want, epoch, incarnation) => {
    expect(nameOfRun(epoch, incarnation)).toBe(want);
  });

  it.each<[string, Parameters<typeof runtimeName>[0]]>([
    ['ClusterTrainingRuntime efa', { name: 'efa' }],
    ['ClusterTrainingRuntime efa', { name: 'efa', kind: 'ClusterTrainingRuntime' }],
    ['TrainingRuntime efa', { name: 'efa', kind: 'TrainingRuntime' }],
  ])('a runtime is named %s', (want, runtime) => {
    expect(runtimeName(runtime)).toBe(want);
  });

  it.each<[string, string, string]>([
    ['as it is', 'tiny', 'tiny-3f1c2b9e'],
    ['with dashes for dots', 'a.b.c', 'a-b-c-3f1c2b9e'],
    ['cut to 40 characters', 'x'.repeat(41), `${'x'.repeat(40)}-3f1c2b9e`],
  ])('the prefix of its objects has its name %s', (_how, name, want) => {
    expect(jobPrefix({ name, uid: '3f1c2b9e-0000-4000-8000-000000000001' })).toBe(want);
  });

  it('Secrets are listed as variables first, then as files, and say if they are optional', () => {
    const reference = { secret: 'job-hf', key: 'token' };
    expect(
      describeSecrets({
        secretEnv: [{ ...reference, name: 'HF_TOKEN', optional: true }],
        secretFiles: [{ ...reference, key: 'cert', optional: false }],
      }),
    ).toEqual([
      { as: 'HF_TOKEN', from: 'secret job-hf/token, if there is one' },
      { as: '/coxswain/secrets/job-hf/cert', from: 'secret job-hf/cert' },
    ]);
    expect(describeSecrets({})).toEqual([]);
  });
});
