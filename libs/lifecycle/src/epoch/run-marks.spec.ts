import type { Attempt } from '@coxswain/api-types';
import type { Facts } from '../observation/facts.ts';
import type { ObservedProgress } from '../observation/observed.ts';
import type { JobRecord } from '../record/job-record.ts';
import { anAttempt, EARLIER, NOW } from '../testing/jobs.ts';
import { lastStepAt, recordMarks, withPace } from './run-marks.ts';

type Marks = Pick<Attempt, 'restoredAt' | 'firstStep' | 'lastStepAt'>;
const at = NOW.toISOString();
const NOTHING = { checkpoints: [], pods: [], placements: [], attempts: [] };
const from20 = { resumedFrom: { checkpoint: 'tiny-gpt-e1-s20', step: 20 } };

const inMemory = { memorySave: { incarnation: 1, step: 30 } };

function recordWith(attempt: Partial<Attempt>): JobRecord {
  return { attempts: [anAttempt({ epoch: 2, ...attempt })], epoch: 2 } as unknown as JobRecord;
}

function marksAfter(attempt: Partial<Attempt>, progress: Partial<ObservedProgress> | undefined): Marks {
  const observed = progress === undefined ? {} : { progress: { epoch: 2, step: 1, ...progress } };
  const { restoredAt, firstStep } =
    recordMarks(recordWith(attempt), { observed, ...NOTHING } as unknown as Facts, NOW).attempts.at(-1) ?? anAttempt();
  return { ...(restoredAt === undefined ? {} : { restoredAt }), ...(firstStep === undefined ? {} : { firstStep }) };
}

describe('marks of a run', () => {
  const known = { firstStep: { step: 1, at: EARLIER } };

  it.each<[string, Partial<Attempt>, Partial<ObservedProgress> | undefined, Marks]>([
    ['its first step', {}, { step: 1 }, { firstStep: { step: 1, at } }],
    ['the first step that is heard of, whichever it is', {}, { step: 7 }, { firstStep: { step: 7, at } }],
    ['that its checkpoint is loaded', from20, { step: 20 }, { restoredAt: at }],
    [
      'its first step beyond the checkpoint',
      { ...from20, restoredAt: EARLIER },
      { step: 21 },
      { restoredAt: EARLIER, firstStep: { step: 21, at } },
    ],
    ['that its save in memory is loaded', { ...from20, ...inMemory }, { step: 30 }, { restoredAt: at }],
    [
      'its first step beyond the save in memory',
      { ...from20, ...inMemory },
      { step: 31 },
      { firstStep: { step: 31, at } },
    ],
    ['each once: a first step', known, { step: 9 }, known],
    ['each once: a loaded checkpoint', { ...from20, restoredAt: EARLIER }, { step: 20 }, { restoredAt: EARLIER }],
    ['nothing that an epoch before tells', {}, { epoch: 1 }, {}],
    ['nothing that an incarnation before tells', { incarnation: 2 }, { step: 9 }, {}],
    ['nothing of an attempt that is over', { stage: 'Ended' }, { step: 9 }, {}],
    ['nothing where nobody tells', {}, undefined, {}],
  ])('hold %s', (_, attempt, progress, expected) => {
    expect(marksAfter(attempt, progress)).toEqual(expected);
  });

  it.each([
    ['stays where the ranks began from it', 30, inMemory.memorySave],
    ['stays while they train on', 45, inMemory.memorySave],
    ['is forgotten where they began from the checkpoint', 20, undefined],
    ['is forgotten where their first steps say so', 21, undefined],
  ])('the save in memory %s', (_, step, want) => {
    const observed = { progress: { epoch: 2, step } };
    const facts = { observed, ...NOTHING } as unknown as Facts;
    const { memorySave } = recordMarks(recordWith({ ...from20, ...inMemory }), facts, NOW).attempts[0] ?? {};
    expect(memorySave).toEqual(want);
  });

  describe('of the time in steps and between them', () => {
    const pace = { fromStep: 10, elapsedMs: 70_000.4, inStepsMs: 60_000.2 };
    const checkpoint = (step: number, incarnation?: number): object => ({ spec: { epoch: 2, step, incarnation } });
    const measured = { steps: 20, inStepsMs: 50_000, betweenStepsMs: 9_000, saves: 3 };

    it.each<[string, Partial<Attempt>, readonly object[], Attempt['pace']]>([
      [
        'what it comes to, with the saves among these steps',
        {},
        [checkpoint(5), checkpoint(10), checkpoint(20), checkpoint(20, 3), checkpoint(40)],
        { steps: 30, inStepsMs: 60_000, betweenStepsMs: 10_000, saves: 2 },
      ],
      ['that nothing was saved yet', {}, [], { steps: 30, inStepsMs: 60_000, betweenStepsMs: 10_000, saves: 0 }],
      ['what was measured with a save before', { pace: measured }, [], measured],
    ])('they hold %s', (_, attempt, checkpoints, expected) => {
      const record = recordWith(attempt);
      const facts = { observed: { progress: { epoch: 2, step: 40, pace } }, checkpoints } as unknown as Facts;
      expect(withPace(record, facts).attempts.at(-1)?.pace).toEqual(expected);
    });
  });

  it('say when the last step was heard of, of a run that took one', () => {
    const progress = { step: 9, reportedAt: EARLIER };
    const silent = { observed: {} } as Facts;
    expect(lastStepAt({ ...recordWith(known), progress } as JobRecord, silent)).toEqual({ lastStepAt: EARLIER });
    expect(lastStepAt({ ...recordWith({}), progress } as JobRecord, silent)).toEqual({});
    expect(lastStepAt(recordWith(known), silent)).toEqual({});
    const recorded = recordWith({ ...known, lastStep: 9, lastStepAt: EARLIER });
    expect(lastStepAt({ ...recorded, progress } as JobRecord, silent)).toEqual({});
  });

  it('say when a step came, not when it was observed', () => {
    const came = NOW.getTime() - 900;
    const progress = { step: 9, first: { step: 7, atMs: came }, stepAtMs: came };
    expect(marksAfter({}, progress)).toEqual({ firstStep: { step: 7, at: new Date(came).toISOString() } });
    // One before the checkpoint, or one of a clock that is ahead, proves nothing.
    expect(marksAfter(from20, { step: 21, first: { step: 20, atMs: came } })).toEqual({ firstStep: { step: 21, at } });
    expect(marksAfter({}, { step: 9, first: { step: 7, atMs: NOW.getTime() + 1 } })).toEqual({
      firstStep: { step: 9, at },
    });
    const written = { step: 9, reportedAt: at };
    const facts = { observed: { progress: { epoch: 2, ...progress } } } as Facts;
    expect(lastStepAt({ ...recordWith(known), progress: written } as JobRecord, facts)).toEqual({
      lastStepAt: new Date(came).toISOString(),
    });
  });
});
