import { findCondition, type TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import type { Observed, ObservedPod, ObservedStanding } from '../observation/observed.ts';
import { aPod, World } from '../testing/index.ts';
import { anAttempt, aRunningJob, EARLIER, NOW, settled } from '../testing/jobs.ts';
import { decide } from './decide.ts';

const FIRST_STEP = { firstStep: { step: 1, at: EARLIER } };
const STANDING: ObservedStanding = {
  epoch: 1,
  incarnation: 1,
  reason: 'NotTraining',
  message: 'No step for 600 s. Rank 1 stands out.',
  isStarting: false,
};

function seen(about: {
  readonly attempt?: Parameters<typeof anAttempt>[0];
  readonly pods?: (job: TrainingJob) => readonly ObservedPod[];
  readonly observed?: Partial<Observed>;
}): Observed {
  const attempt = anAttempt({ runningAt: EARLIER, leaderTerm: 3, ...about.attempt });
  return aRunningJob({
    status: { attempts: [attempt] },
    ...(about.pods === undefined ? {} : { pods: about.pods }),
    observed: { leaderTerm: 3, ...about.observed },
  });
}

const shown = (observed: Observed): readonly unknown[] => {
  const { status } = decide(observed, NOW);
  const running = findCondition(status.conditions, 'Running');
  return [status.state, `${running?.status}/${running?.reason}`, status.summary];
};

const GANG = 'in attempt 1 on 4 GPUs of 2 nodes, tp2 x dp2';

describe('the state of a gang that runs', () => {
  it.each<[string, Observed, readonly unknown[]]>([
    ['before its first step', seen({}), ['Running', 'True/GangRunning', `Runs ${GANG}; no step was reported yet.`]],
    ['and trains', seen({ attempt: FIRST_STEP }), ['Running', 'True/GangRunning', `Trains ${GANG}.`]],
    [
      'and stands still',
      seen({ attempt: FIRST_STEP, observed: { standing: STANDING } }),
      ['Running', 'True/NotTraining', `Runs ${GANG}. ${STANDING.message}`],
    ],
    [
      'and has not come to its first step, as its launchers report',
      seen({ observed: { standing: { ...STANDING, reason: 'BeforeFirstStep', isStarting: true } } }),
      ['Starting', 'True/BeforeFirstStep', STANDING.message],
    ],
    [
      'after an earlier incarnation that stood still',
      seen({ attempt: { ...FIRST_STEP, incarnation: 2 }, observed: { standing: STANDING } }),
      ['Running', 'True/GangRunning', `Trains in attempt 1 (incarnation 2) on 4 GPUs of 2 nodes, tp2 x dp2.`],
    ],
  ])('%s: state, condition and summary', (_what, observed, want) => {
    expect(shown(observed)).toEqual(want);
  });

  it('names ranks whose pod finished before the others, after 5 s', () => {
    const pods = (job: TrainingJob): readonly ObservedPod[] => [
      aPod(job),
      aPod(job, { podIndex: 1, phase: 'Succeeded', running: false }),
    ];
    const after = (ms: number): Observed =>
      seen({ attempt: FIRST_STEP, pods, observed: { elapsedMs: new Map([['e1i1/finished', ms]]) } });
    expect(decide(after(0), NOW).timed).toContain('e1i1/finished');
    expect(shown(after(4_000))[1]).toBe('True/GangRunning');
    expect(shown(after(5_000))).toEqual([
      'Running',
      'True/RanksFinished',
      `Runs ${GANG}. Ranks 2-3 finished with exit code 0; 2 ranks wait for them.`,
    ]);
  });

  it('is Starting while a launcher has not reached the operator, and says what to check', () => {
    const reportAgesMs = new Map([[aPod(seen({}).job).uid, 1_000]]);
    const after = (ms: number): Observed =>
      seen({ observed: { reportAgesMs, elapsedMs: new Map([['e1/unheard', ms]]) } });
    expect(shown(after(29_000)).slice(0, 2)).toEqual(['Running', 'True/GangRunning']);
    const [state, running, summary] = shown(after(30_000));
    expect([state, running]).toEqual(['Starting', 'False/LaunchersSilent']);
    expect(summary).toMatch(
      /^The launcher of pod \S+ on node node-b has not reached the operator, so the ranks of attempt 1 have not started\. .* clock .* certificate/,
    );
    const heard = new Map([0, 1].map((podIndex) => [aPod(seen({}).job, { podIndex }).uid, 1_000] as const));
    const { status } = settled(
      seen({ observed: { reportAgesMs: heard, elapsedMs: new Map([['e1/unheard', 60_000]]) } }),
    );
    expect(status.state).toBe('Running');
  });

  it('follows what launchers report, in the same cluster', () => {
    const world = new World(aTrainingJob());
    for (let pass = 0; pass < 12 && world.job?.status?.state !== 'Running'; pass += 1) {
      world.reconcile();
      world.tick(1_000);
    }
    world.standing = STANDING;
    world.reconcile();
    const reasonNow = (): string | undefined => findCondition(world.job?.status?.conditions, 'Running')?.reason;
    expect(reasonNow()).toBe('NotTraining');
    world.standing = undefined;
    world.reconcile();
    expect(reasonNow()).toBe('GangRunning');
  });
});
