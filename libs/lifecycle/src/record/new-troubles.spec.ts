import type { Attempt, Incident, TrainingJob } from '@coxswain/api-types';
import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import { newTroubles, type NewTroubles } from './new-troubles.ts';

const hang = { id: '1.1-hang', kind: 'Hang' } as Incident;
const crash = { id: '2.1', kind: 'Crash' } as Incident;
const job = (attempts: readonly Attempt[], incidents: readonly Incident[] = []): TrainingJob => ({
  ...aTrainingJob(),
  status: {
    epoch: 1,
    restarts: { total: 0, charged: 0 },
    attempts: [...attempts],
    incidents: [...incidents],
  },
});
const running = anAttempt({ epoch: 1, incarnation: undefined, incarnations: undefined, outcome: undefined });
const ended = (fields: Partial<Attempt>): Attempt => ({ ...running, stage: 'Ended', ...fields });
const inPods = ended({
  incarnation: 2,
  incarnations: [{ incarnation: 1, endedAt: '2026-01-01T00:00:00Z', reason: 'EngineFailed', charged: true }],
});

it.each<[string, TrainingJob, TrainingJob, NewTroubles]>([
  ['nothing of a job that trains on', job([running], [hang]), job([running], [hang]), { incidents: [], restarts: [] }],
  [
    'an incident that is new, once',
    job([running], [hang]),
    job([running], [hang, crash]),
    { incidents: ['Crash'], restarts: [] },
  ],
  [
    'a failed attempt that another follows',
    job([running]),
    job([ended({ outcome: 'Failed', reason: 'NodeLost', answer: 'Restart' })]),
    { incidents: [], restarts: ['NodeLost'] },
  ],
  [
    'no restart of a job that is given up',
    job([running]),
    job([ended({ outcome: 'Failed', reason: 'EngineFailed', answer: 'GiveUp' })]),
    { incidents: [], restarts: [] },
  ],
  ['a restart in the same pods', job([running]), job([inPods]), { incidents: [], restarts: ['EngineFailed'] }],
  [
    'the failure of the second run of such pods, not again the first',
    job([inPods]),
    job([{ ...inPods, outcome: 'Failed', reason: 'NodeLost', answer: 'Restart' }]),
    { incidents: [], restarts: ['NodeLost'] },
  ],
  [
    'a change of the number of GPUs by its outcome',
    job([running]),
    job([ended({ outcome: 'Resized', reason: undefined })]),
    { incidents: [], restarts: ['Resized'] },
  ],
])('counts %s', (_what, before, after, want) => {
  expect(newTroubles(before, after)).toEqual(want);
});
