import { anAttempt } from '@coxswain/api-types/testing';
import { whyNotShown, type Outcome } from './verdict.ts';

const first = anAttempt({ epoch: 1 });
const resumed = anAttempt({ epoch: 2, resumedFrom: { checkpoint: 'gpt-40', step: 40 } });
const fromScratch = anAttempt({ epoch: 2 });
const saved = { name: 'gpt-40', epoch: 1, step: 40, state: 'Complete' } as const;

const outcome = (given: {
  readonly attempts: Outcome['job']['attempts'];
  readonly checkpoints?: Outcome['checkpoints'];
  readonly killRank?: boolean;
  readonly state?: Outcome['job']['state'];
}): Outcome => ({
  job: { state: given.state ?? 'Complete', summary: 'rank 3 exited with 1', attempts: given.attempts },
  checkpoints: given.checkpoints ?? [saved],
  killRank: given.killRank ?? true,
});

describe('the quickstart', () => {
  it.each<[string, Outcome]>([
    ['the job resumed from its checkpoint', outcome({ attempts: [first, resumed] })],
    [
      'its ranks began again in the same pods, from its checkpoint',
      outcome({ attempts: [{ ...resumed, epoch: 1, incarnation: 2 }] }),
    ],
    ['the job was left in peace and completed', outcome({ attempts: [first], killRank: false })],
    [
      'an attempt failed before the first checkpoint and began anew',
      outcome({
        attempts: [first, fromScratch, { ...resumed, epoch: 3 }],
        checkpoints: [{ ...saved, epoch: 2 }],
      }),
    ],
  ])('has shown what it promises when %s', (_, given) => {
    expect(whyNotShown(given)).toBeUndefined();
  });

  it.each<[string, Outcome, string]>([
    [
      'the job failed',
      outcome({ attempts: [first], state: 'Failed' }),
      'the job did not complete; it is Failed: rank 3 exited with 1',
    ],
    [
      'training started from step 0 after the kill',
      outcome({ attempts: [first, fromScratch] }),
      'attempt 2 started from step 0 although a checkpoint had been saved',
    ],
    [
      'only the third attempt started from step 0',
      outcome({ attempts: [first, resumed, { ...fromScratch, epoch: 3 }] }),
      'attempt 3 started from step 0 although a checkpoint had been saved',
    ],
    [
      'a checkpoint could not be read back',
      outcome({ attempts: [first, fromScratch], checkpoints: [{ ...saved, state: 'Damaged' }] }),
      'the checkpoint gpt-40 of step 40 is marked Damaged: it could not be read back',
    ],
    [
      'a checkpoint could not be read back and nobody was killed',
      outcome({ attempts: [first], checkpoints: [{ ...saved, state: 'Damaged' }], killRank: false }),
      'the checkpoint gpt-40 of step 40 is marked Damaged: it could not be read back',
    ],
    [
      'no checkpoint was saved',
      outcome({ attempts: [first], checkpoints: [] }),
      'the job saved no checkpoint, so there was nothing to resume from',
    ],
    [
      'the rank could not be killed',
      outcome({ attempts: [first] }),
      'no rank was killed after the first checkpoint, so there was nothing to resume',
    ],
  ])('fails with a sentence when %s', (_, given, sentence) => {
    expect(whyNotShown(given)).toBe(sentence);
  });
});
