import type { TrainingJobStatus } from '@coxswain/api-types';
import { liveAttempt, recordedConditions, recordOf, withLastAttempt } from './job-record.ts';
import { aJob, anAttempt, aStatus } from '../testing/jobs.ts';

const recordIn = (status: unknown): ReturnType<typeof recordOf> =>
  recordOf({ ...aJob(), status: status as TrainingJobStatus });

describe('what a status records', () => {
  it('is nothing where there is no status', () => {
    expect(recordOf(aJob())).toEqual({
      epoch: 0,
      restarts: { total: 0, charged: 0 },
      notBefore: undefined,
      plan: undefined,
      progress: undefined,
      checkpoint: undefined,
      attempts: [],
      incidents: [],
      avoidedNodes: [],
      unrecordedCheckpoints: [],
      terminal: undefined,
    });
  });

  it.each([
    ['an epoch below that of the newest attempt', { epoch: 1, attempts: [anAttempt({ epoch: 4 })] }, { epoch: 4 }],
    ['an epoch that is no number', { epoch: 'two', attempts: [anAttempt({ epoch: 2 })] }, { epoch: 2 }],
    ['restarts that cannot be', { restarts: { total: -1, charged: 0 } }, { restarts: { total: 0, charged: 0 } }],
    ['a time that is none', { notBefore: 7 }, { notBefore: undefined }],
    ['progress without a step', { progress: { loss: 2 } }, { progress: undefined }],
    ['a checkpoint without a step', { checkpoint: { name: 'x' } }, { checkpoint: undefined }],
    ['refused checkpoints without a spec', { unrecordedCheckpoints: [{ name: 'x' }] }, { unrecordedCheckpoints: [] }],
    ['conditions that are no list', { conditions: 'none' }, { terminal: undefined }],
  ])('counts %s as absent or mends it', (_sentence, status, want) => {
    expect(recordIn(status)).toMatchObject(want);
  });

  it('keeps the attempts that can be read, in order, and only the last may be under way', () => {
    const attempts = [anAttempt({ epoch: 3 }), null, { epoch: -1 }, anAttempt({ epoch: 1 }), 'x'];
    expect(recordIn({ attempts }).attempts.map(({ epoch, stage }) => `${epoch} ${stage}`)).toEqual([
      '1 Ended',
      '3 Released',
    ]);
  });

  it('keeps an attempt of which a field cannot be read, without that field: its gang is no stray', () => {
    const attempts = [{ ...anAttempt(), reason: 'OfALaterRelease', message: 7, prediction: { stepMs: 'soon' } }];
    expect(recordIn({ attempts }).attempts).toEqual([anAttempt()]);
  });

  it('forgets a request to save that ended in a word of a later release, and keeps its gang', () => {
    const earlySave = {
      request: 2,
      incarnation: 1,
      askedAt: '2026-01-01T00:00:00Z',
      afterStep: 10,
      why: 'A node is suspect.',
      suspicions: ['node-a'],
    };
    const attempts = [{ ...anAttempt(), earlySave: { ...earlySave, outcome: 'OfALaterRelease' } }];
    expect(recordIn({ attempts }).attempts).toEqual([anAttempt()]);
    const known = { ...anAttempt(), earlySave: { ...earlySave, outcome: 'RanksEnded' } };
    expect(recordIn({ attempts: [known] }).attempts).toEqual([known]);
  });

  it('keeps the newest twenty of more attempts', () => {
    const attempts = Array.from({ length: 25 }, (_, index) => anAttempt({ epoch: index + 1 }));
    expect(recordIn({ attempts }).attempts.map(({ epoch }) => epoch)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 6),
    );
  });

  const condition = (type: string, reason: string, status = 'True') => ({
    type,
    status,
    reason,
    message: 'Testimony so.',
    observedGeneration: 1,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });

  it.each([
    ['a job that is Complete has ended well', [condition('Complete', 'AllRanksSucceeded')], { type: 'Complete' }],
    ['Complete beats Failed', [condition('Failed', 'Cancelled'), condition('Complete', 'x')], { type: 'Complete' }],
    [
      'a job that is Failed keeps its reason',
      [condition('Failed', 'Cancelled')],
      { type: 'Failed', reason: 'Cancelled', message: 'Testimony so.' },
    ],
    [
      'a reason that nobody knows is the budget',
      [condition('Failed', 'Bored')],
      { type: 'Failed', reason: 'RestartsExhausted' },
    ],
  ])('%s', (_sentence, conditions, want) => {
    expect(recordIn({ conditions }).terminal).toMatchObject(want);
  });

  it('an end that stands beside a gang under way ends nothing, or nobody would stop that gang', () => {
    const conditions = [condition('Failed', 'Cancelled')];
    const [running, ended] = [{}, { stage: 'Ended' as const }].map((attempt) =>
      recordIn({ ...aStatus({ attempts: [anAttempt(attempt)] }), conditions }),
    );
    expect([running?.terminal, ended?.terminal?.type]).toEqual([undefined, 'Failed']);
  });

  it('a condition that does not hold ends nothing, and one that cannot be read is passed over', () => {
    const conditions = [condition('Failed', 'Cancelled', 'False'), { type: 'Failed' }, null];
    expect(recordIn({ conditions }).terminal).toBeUndefined();
    expect(recordedConditions({ ...aJob(), status: { conditions } as never })).toHaveLength(1);
  });
});

describe('the attempt that is under way', () => {
  it.each([
    ['is the last one of the current epoch', aStatus(), 1],
    ['is none once it has ended', aStatus({ attempts: [anAttempt({ stage: 'Ended' })] }), undefined],
    ['is none where the epoch is further than the attempts', aStatus({ epoch: 2 }), undefined],
  ])('%s', (_sentence, status, want) => {
    expect(liveAttempt(recordIn(status))?.epoch).toBe(want);
  });

  it('is changed alone', () => {
    const record = recordIn(aStatus({ attempts: [anAttempt({ stage: 'Ended' }), anAttempt({ epoch: 2 })] }));
    const stages = withLastAttempt(record, { stage: 'Stopping' }).attempts.map(({ stage }) => stage);
    expect(stages).toEqual(['Ended', 'Stopping']);
    expect(withLastAttempt(recordOf(aJob()), { stage: 'Ended' }).attempts).toEqual([]);
  });
});
