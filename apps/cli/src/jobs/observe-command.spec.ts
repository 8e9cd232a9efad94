import type { ObservedJob } from '@coxswain/api-types';
import { type Outcome, runCommand } from '../testing/run-command.ts';

const OBSERVED = 'GET /v1/projects/research/observed-jobs';

function aJob(more: Partial<ObservedJob> = {}): ObservedJob {
  return {
    namespace: 'research',
    kind: 'JobSet',
    name: 'gpt',
    attempt: 1,
    phase: 'NotTraining',
    observedSince: '2026-01-09T12:00:00.000Z',
    worldSize: 2,
    gpus: 2,
    step: 41,
    stepTimeMs: 118,
    pods: [
      {
        name: 'gpt-w-0',
        node: 'n-0',
        podPhase: 'Running',
        ranks: '0',
        rankPhases: ['training'],
        exitCodes: [],
        reportedAgoSeconds: 2,
      },
      {
        name: 'gpt-w-1',
        node: 'n-1',
        podPhase: 'Running',
        ranks: '',
        rankPhases: [],
        exitCodes: [7],
        reportedAgoSeconds: null,
        unknown: 'its observer has not reported',
      },
    ],
    standing: 'The process of rank 1 on node n-1 is stopped (state T).',
    findings: [
      {
        at: '2026-01-09T12:05:00.000Z',
        kind: 'hang',
        ranks: [1],
        nodes: ['n-1'],
        message: 'Rank 1 is stopped.',
        evidence: { waitedForMs: 15_000, 'stack of rank 0': 'all_reduce (torch.py:1)\nstep (train.py:40)' },
      },
    ],
    ledger: { training: 3_600, starting: 12, notTraining: 30, unknown: 20 },
    unknown: ['Layout: ranks are compared with all ranks of the job.'],
    ...more,
  };
}

function observe(argv: string, jobs: readonly ObservedJob[] = [aJob()]): Promise<Outcome> {
  return runCommand(argv, { [OBSERVED]: { json: { jobs, leftOut: 0 } } });
}

describe('coxswain observe', () => {
  it('lists jobs with what they do, and why they do not train', async () => {
    const training = aJob({ name: 'bert', kind: 'PyTorchJob', phase: 'Training', standing: null, findings: [] });
    const { code, out } = await observe('observe', [aJob(), training]);
    expect(out).toBe(`JOB   NAMESPACE  KIND        PHASE        RANKS   STEP  WHY
gpt   research   JobSet      NotTraining  1 of 2  41    The process of rank 1 on node n-1 is stopped (state T).
bert  research   PyTorchJob  Training     1 of 2  41`);
    expect(code).toBe(0);
  });

  it('shows one job: blame with stacks, ranks, time, and what is unknown', async () => {
    const { out } = await observe('observe research/gpt');
    expect(out)
      .toBe(`JobSet research/gpt, restart 1: NotTraining (ranks report, and no step ends; the standing or a finding says why).
Step 41, 118 ms a step; 1 of 2 ranks report; 2 GPUs; observed since 2026-01-09 12:00:00 UTC.

The process of rank 1 on node n-1 is stopped (state T).

2026-01-09 12:05:00 UTC, hang: Rank 1 is stopped.
    waitedForMs: 15000
    stack of rank 0:
        all_reduce (torch.py:1)
        step (train.py:40)

POD      NODE  STATE                  RANKS    DOES
gpt-w-0  n-0   Running                0        training
gpt-w-1  n-1   Running (exit code 7)  unknown  unknown

Time: training 1 h 0 min, starting 12.0 s, not training 30.0 s, unknown 20.0 s.

Unknown:
  Pod gpt-w-1: its observer has not reported
  Layout: ranks are compared with all ranks of the job.`);
  });

  it('takes the job that runs, where one of the same name ended', async () => {
    const { out } = await observe('observe gpt', [aJob({ phase: 'Ended', step: 7 }), aJob({ step: 8 })]);
    expect(out).toContain('Step 8,');
  });

  it.each<[string, string, readonly ObservedJob[], string]>([
    ['no job has that name', 'observe other', [aJob()], 'No observed job is named "other".'],
    [
      'several namespaces have it',
      'observe gpt',
      [aJob(), aJob({ namespace: 'vision' })],
      '"gpt" is in namespaces research, vision. Give it as namespace/name.',
    ],
  ])('says what to do if %s', async (_sentence, argv, jobs, message) => {
    const { code, err } = await observe(argv, jobs);
    expect(code).toBe(1);
    expect(err).toContain(message);
  });

  it('says so if nothing is observed', async () => {
    expect((await observe('observe', [])).out).toContain(
      'No pod with label training.coxswain.dev/observe=true was seen',
    );
  });
});
