import { type Attempt, findCondition, type TrainingJob, type TrainingJobStatus } from '@coxswain/api-types';
import { decide } from './decide.ts';
import type { Observed, ObservedPod } from '../observation/observed.ts';
import { aCheckpoint, anExit, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, NOW, settled, summaryOfCondition } from '../testing/jobs.ts';

describe('what follows a failure', () => {
  const ended = (overrides: Partial<Attempt> = {}): Attempt =>
    anAttempt({
      stage: 'Ended',
      outcome: 'Failed',
      reason: 'EngineFailed',
      charged: true,
      answer: 'Restart',
      ...overrides,
    });
  const failing = (job: TrainingJob): readonly ObservedPod[] => [aPod(job, { phase: 'Failed', exit: anExit() })];

  it.each([
    { charged: 0, wantDelayMs: 5_000 },
    { charged: 1, wantDelayMs: 10_000 },
    { charged: 2, wantDelayMs: 20_000 },
    { charged: 9, wantDelayMs: 300_000 },
  ])('after $charged charged restarts the next waits $wantDelayMs ms', ({ charged, wantDelayMs }) => {
    const restarts = { total: charged, charged };
    const spec = { spec: { restartPolicy: { maxRestarts: 20 } } };
    const { status } = decide(aRunningJob({ status: { restarts }, spec, pods: failing }), NOW);
    expect(Date.parse(status.notBefore ?? '') - NOW.getTime()).toBe(wantDelayMs);
    expect(status.restarts).toEqual({ total: charged + 1, charged: charged + 1 });
  });

  describe('when the cluster refuses a pod of the gang', () => {
    const name = 'tiny-gpt-3f1c2b9e-e1-1';
    const words = 'pods "x" is forbidden: exceeded quota: small';
    const refusedPods = new Map([[name, words]]);
    const creating = (status: Partial<TrainingJobStatus> = {}): Observed => {
      const job = aJob({ status: aStatus({ attempts: [anAttempt({ stage: 'Creating' })], ...status }) });
      return observe({
        job,
        placements: [aPlacement(job)],
        pods: [aPod(job, { gated: true, phase: 'Pending' })],
        refusedPods,
      });
    };

    it('removes those already made, charges nothing and says so in its words', () => {
      const { status, actions } = settled(creating());
      expect(status.attempts?.at(-1)).toMatchObject({ stage: 'Stopping', reason: 'PodsRefused', charged: false });
      expect(status.restarts.charged).toBe(0);
      expect(status.summary).toContain(words);
      expect(actions).toMatchObject([
        { kind: 'refuseLaunchers' },
        { kind: 'deletePods', pods: [{ name: 'tiny-gpt-3f1c2b9e-e1-0' }] },
      ]);
    });

    it('waits with the words in summary and condition, and is no restart of something that ran', () => {
      const refused = ended({
        reason: 'PodsRefused',
        charged: false,
        message: `The cluster refuses pod ${name}: ${words}`,
      });
      const job = aJob({ status: aStatus({ attempts: [refused], notBefore: '2026-01-01T00:20:04Z' }) });
      const { status } = settled(observe({ job, placements: [aPlacement(job)] }));
      expect(status).toMatchObject({ state: 'Queued', summary: expect.stringContaining(words) as string });
      expect(summaryOfCondition(status, 'Placed')).toBe('False/PodsRefused');
      expect(findCondition(status.conditions, 'Placed')?.message).toContain(words);
    });

    it.each([
      { times: 0, wantDelayMs: 1_000 },
      { times: 3, wantDelayMs: 8_000 },
      { times: 19, wantDelayMs: 300_000 },
    ])(
      'for the time after $times others it tries again after $wantDelayMs ms, for ever and free of charge',
      ({ times, wantDelayMs }) => {
        const earlier = Array.from({ length: times }, (_, index) =>
          ended({ epoch: index + 1, reason: 'PodsRefused', charged: false }),
        );
        const epoch = times + 1;
        const spec = { restartPolicy: { maxRestarts: 0, delaySeconds: 0 } };
        const job = aJob({
          spec,
          status: aStatus({ epoch, attempts: [...earlier, anAttempt({ epoch, stage: 'Creating' })] }),
        });
        const again = new Map([[`tiny-gpt-3f1c2b9e-e${epoch}-0`, words]]);
        const { status } = decide(observe({ job, placements: [aPlacement(job, { epoch })], refusedPods: again }), NOW);
        expect(status.attempts?.at(-1)).toMatchObject({ reason: 'PodsRefused', charged: false, answer: 'Restart' });
        expect(Date.parse(status.notBefore ?? '') - NOW.getTime()).toBe(wantDelayMs);
      },
    );
  });

  it('is counted once, however often it is looked at', () => {
    const pods = (job: TrainingJob): readonly ObservedPod[] => [...failing(job), aPod(job, { podIndex: 1 })];
    expect(settled(aRunningJob({ pods })).status.restarts).toEqual({ total: 1, charged: 1 });
  });

  it('is by the first rule of its failure policy, which status and summary tell', () => {
    const rules = [{ name: 'bad-lines', onLogPatterns: ['valueerror: *'], action: 'RestartElsewhere' as const }];
    const observed = aRunningJob({ spec: { spec: { failurePolicy: { rules } } }, pods: failing });
    const { status } = settled(observed);
    const judgement = { rule: 'bad-lines', action: 'RestartElsewhere', class: 'PythonException', delayMs: 0 };
    expect(status.attempts?.[0]).toMatchObject({ reason: 'EngineFailed', answer: 'Restart', judgement });
    expect(status.failures).toMatchObject({ withoutProgress: 1, sinceCheckpoint: 1 });
    expect(status.avoidedNodes).toMatchObject([{ node: 'node-a', reason: 'FailurePolicy' }]);
  });

  it('is the end by a rule that says so', () => {
    const rules = [{ name: 'never', onBlames: ['program' as const], action: 'Fail' as const }];
    const { status } = settled(aRunningJob({ spec: { spec: { failurePolicy: { rules } } }, pods: failing }));
    expect(summaryOfCondition(status, 'Failed')).toBe('True/FailurePolicy');
    expect(findCondition(status.conditions, 'Failed')?.message).toMatch(
      /^Failed in attempt 1: PythonException \(program\), rule never \(Fail\): ValueError: planted\. The rule fails the job\. Read the traceback\. Rank 1/,
    );
  });

  it('is the end where the same traceback came before on another node', () => {
    const first = settled(aRunningJob({ pods: failing })).status.failures;
    if (first === undefined) throw new Error('nothing was counted');
    const elsewhere = { fingerprint: '', times: 1, ...first.traceback, nodes: ['node-z'] };
    const again = settled(aRunningJob({ status: { failures: { ...first, traceback: elsewhere } }, pods: failing }));
    expect(summaryOfCondition(again.status, 'Failed')).toBe('True/SameTraceback');
  });

  it('is the end once the budget is spent, with the whole reason', () => {
    const restarts = { total: 3, charged: 3 };
    const { status } = settled(aRunningJob({ status: { restarts }, pods: failing }));
    expect(status).toMatchObject({ state: 'Failed', restarts });
    expect(summaryOfCondition(status, 'Failed')).toBe('True/RestartsExhausted');
    expect(findCondition(status.conditions, 'Failed')?.message).toContain('Rank 1 on node node-a exited with code 1');
    expect(findCondition(status.conditions, 'Failed')?.message).toContain('ValueError: planted');
  });

  it('waits for the delay, and says when to look again', () => {
    const job = aJob({ status: aStatus({ attempts: [ended()], notBefore: '2026-01-01T00:20:04Z' }) });
    const elapsedMs = new Map([['e1/delay', 1_000]]);
    const decision = settled(observe({ job, placements: [aPlacement(job)], elapsedMs }));
    expect(summaryOfCondition(decision.status, 'Placed')).toBe('False/WaitingForRestartDelay');
    expect(decision).toMatchObject({ actions: [], requeueAfterMs: 4_000, status: { state: 'Restarting' } });
  });

  it('goes on after a suspend at the layout that the spec asks for now, without any delay', () => {
    const suspended = anAttempt({ stage: 'Ended', outcome: 'Suspended', reason: 'SuspendRequested', charged: false });
    const job = aJob({
      spec: { layout: { pipelineParallelDegree: 2, dataParallelDegree: 2 } },
      status: aStatus({ attempts: [suspended] }),
    });
    const { actions } = settled(observe({ job, placements: [aPlacement(aJob())], checkpoints: [aCheckpoint(job)] }));
    expect(actions).toMatchObject([
      {
        kind: 'createPlacement',
        spec: {
          epoch: 2,
          layout: { tensorParallelDegree: 1, pipelineParallelDegree: 2, dataParallelDegree: 2 },
          resume: { step: 20 },
        },
      },
    ]);
  });

  it('resumes the next epoch from the newest complete checkpoint', () => {
    const job = aJob({ status: aStatus({ attempts: [ended()] }) });
    const checkpoints = [
      aCheckpoint(job),
      aCheckpoint(job, { spec: { step: 40 } }),
      aCheckpoint(job, { spec: { step: 60 }, status: { state: 'Damaged' } }),
    ];
    const { actions } = settled(observe({ job, placements: [aPlacement(job)], checkpoints }));
    expect(actions).toMatchObject([
      {
        kind: 'createPlacement',
        name: expect.stringMatching(/^tiny-gpt-3f1c2b9e-e2-[0-9a-f]{10}$/) as string,
        spec: { epoch: 2, resume: { step: 40 } },
      },
    ]);
  });

  it('charges a free failure after ten in a row that led nowhere', () => {
    const attempts = Array.from({ length: 10 }, (_, index) =>
      ended({ epoch: index + 1, reason: 'RendezvousPortLost', charged: false }),
    );
    const job = aJob({ status: aStatus({ attempts: [...attempts, anAttempt({ epoch: 11 })] }) });
    const pods = [aPod(job, { epoch: 11, phase: 'Failed', exit: { exitCode: 71, reason: 'Error' } })];
    const { status } = decide(observe({ job, pods, placements: [aPlacement(job, { epoch: 11 })] }), NOW);
    expect(status.restarts).toEqual({ total: 1, charged: 1 });
  });

  it('keeps the last 20 attempts', () => {
    const attempts = Array.from({ length: 20 }, (_, index) => ended({ epoch: index + 1 }));
    const job = aJob({ status: aStatus({ attempts }) });
    const { status } = decide(observe({ job }), NOW);
    expect(status.attempts?.map(({ epoch }) => epoch)).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
  });
});
