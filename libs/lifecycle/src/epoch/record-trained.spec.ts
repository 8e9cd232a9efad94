import type { Attempt } from '@coxswain/api-types';
import type { Facts } from '../observation/facts.ts';
import type { ObservedTrained } from '../observation/observed.ts';
import type { JobRecord } from '../record/job-record.ts';
import { anAttempt } from '../testing/jobs.ts';
import { recordTrained } from './record-trained.ts';

const trained: ObservedTrained = { epoch: 2, incarnation: 1, differences: ['Rank 0 trains by itself.'] };

function trainedAfter(attempt: Partial<Attempt>, seen: ObservedTrained | undefined = trained): Attempt['trained'] {
  const record = { attempts: [anAttempt({ epoch: 2, ...attempt })], epoch: 2 } as unknown as JobRecord;
  return recordTrained(record, { observed: { trained: seen } } as Facts).attempts.at(-1)?.trained;
}

describe('what is really trained is recorded', () => {
  const earlier = { incarnation: 1, differences: [] };

  it.each<[string, Partial<Attempt>, ObservedTrained, Attempt['trained']]>([
    ['with the attempt that runs', {}, trained, { incarnation: 1, differences: trained.differences }],
    [
      'again where more pods have told',
      { trained: earlier },
      trained,
      { incarnation: 1, differences: trained.differences },
    ],
    ['not of another epoch', {}, { ...trained, epoch: 1 }, undefined],
    ['not of an incarnation before', { incarnation: 2, trained: earlier }, trained, earlier],
    ['not of an attempt that is over', { stage: 'Ended' }, trained, undefined],
  ])('%s', (_, attempt, seen, expected) => {
    expect(trainedAfter(attempt, seen)).toEqual(expected);
  });

  it('and stays while nobody has told whoever leads now', () => {
    const record = { attempts: [anAttempt({ epoch: 2, trained: earlier })], epoch: 2 } as unknown as JobRecord;
    expect(recordTrained(record, { observed: {} } as Facts)).toBe(record);
  });
});
