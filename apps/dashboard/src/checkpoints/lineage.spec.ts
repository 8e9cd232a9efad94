import type { Attempt } from '@coxswain/api-types';
import { anAttempt } from '@coxswain/api-types/testing';
import { baseOf, startedFrom } from './lineage.ts';

const from = (step: number): NonNullable<Attempt['resumedFrom']> => ({ checkpoint: `s${step}`, step });
/** Attempt 1 began from scratch and restarted its ranks from step 20; attempt 2 began from step 20 as well. */
const ATTEMPTS: readonly Attempt[] = [
  anAttempt({
    epoch: 1,
    incarnation: 2,
    resumedFrom: from(20),
    incarnations: [{ incarnation: 1, endedAt: 't', reason: 'EngineFailed', charged: true }],
  }),
  anAttempt({ epoch: 2, resumedFrom: from(20) }),
  anAttempt({ epoch: 3, resumedFrom: from(40) }),
];

it('knows which runs began from a checkpoint, and none of one that began from scratch', () => {
  expect([...startedFrom(ATTEMPTS)]).toEqual([
    ['s20', ['1.2', '2']],
    ['s40', ['3']],
  ]);
});

describe('the base of a checkpoint', () => {
  it.each<[sentence: string, saved: Parameters<typeof baseOf>[0], want: ReturnType<typeof baseOf>]>([
    ['is scratch for the first run', { epoch: 1 }, null],
    ['is scratch for the first incarnation', { epoch: 1, incarnation: 1 }, null],
    ['is what a later incarnation began from', { epoch: 1, incarnation: 2 }, from(20)],
    ['is what a later attempt began from', { epoch: 3 }, from(40)],
    ['is unknown if the attempt is not recorded any more', { epoch: 9 }, undefined],
    ['is unknown if the incarnation is not recorded any more', { epoch: 2, incarnation: 7 }, undefined],
  ])('%s', (_sentence, saved, want) => {
    expect(baseOf(saved, ATTEMPTS)).toEqual(want);
  });
});
