import type { TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import { startErrorBetween, type StartError } from './start-error.ts';

const at = (minutes: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + minutes * 60_000).toISOString();
const aJob = (status: Partial<TrainingJobStatus>): TrainingJob =>
  aTrainingJob({ status: { epoch: 0, restarts: { total: 0, charged: 0 }, ...status } });

/** Nodes were held from minute 0 on for a start at minute 100; meanwhile the start has moved to minute 150. */
const expectedStart = { at: at(150), restsOn: 'Measured', promisedAt: at(0), firstPromised: at(100) } as const;
const waits = aJob({ expectedStart });
const started = (minutes: number, epoch = 1): TrainingJob =>
  aJob({ epoch, attempts: [anAttempt({ epoch, startedAt: at(minutes) })] });

it.each<[string, TrainingJob, TrainingJob, StartError | undefined]>([
  ['is that of the start that was expected first', waits, started(125), { errorSeconds: 1_500, share: 0.25 }],
  ['is negative if the job starts earlier', waits, started(90), { errorSeconds: -600, share: 0.1 }],
  [
    'has no share if no wait was expected',
    aJob({ expectedStart: { ...expectedStart, firstPromised: at(0) } }),
    started(1),
    { errorSeconds: 60, share: undefined },
  ],
  ['does not exist if no nodes were held', aJob({}), started(125), undefined],
  ['does not exist while the job waits', waits, waits, undefined],
  ['does not exist if nodes are no longer held and the job waits', waits, aJob({}), undefined],
  [
    'is not counted again for an attempt that had begun before',
    aJob({ epoch: 1, expectedStart }),
    started(125),
    undefined,
  ],
  [
    'does not exist if the record cannot be read',
    aJob({ expectedStart: { ...expectedStart, firstPromised: 'soon' } }),
    started(125),
    undefined,
  ],
])('the error of a start %s', (_sentence, before, after, want) => {
  expect(startErrorBetween(before, after)).toEqual(want);
});
