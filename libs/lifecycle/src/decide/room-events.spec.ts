import type { JobClaim, TrainingJobStatus } from '@coxswain/api-types';
import { aJob, anAttempt, aStatus } from '../testing/jobs.ts';
import { jobEvents } from './job-events.ts';

const claim: JobClaim = {
  epoch: 2,
  generation: 1,
  state: 'Asking',
  placement: 'tiny-gpt-3f1c2b9e-e2-0123456789',
  placementSha256: '0'.repeat(64),
  victims: [
    { uid: 'a', epoch: 1, wayOut: 'Wait', priceGpuSeconds: 4, deadlineSeconds: 60, savesWhenAsked: true },
    { uid: 'b', epoch: 3, wayOut: 'Move', priceGpuSeconds: 4, deadlineSeconds: 60, savesWhenAsked: false },
  ],
  recordedAt: '2026-01-01T00:00:00Z',
  expiresAfterSeconds: 1_800,
  askedAt: '2026-01-01T00:00:01Z',
};
const forClaim = {
  uid: 'c',
  epoch: 1,
  priority: 100,
  wayOut: 'Wait',
  deadline: '2026-01-01T00:19:30Z',
} as const;

function eventsOf(status: Partial<TrainingJobStatus>): readonly string[] {
  const events = jobEvents({ job: aJob({ status: aStatus(status) }), checkpoints: [], placements: [] });
  return events
    .filter(({ type }) => ['RoomAsked', 'RoomNotMade', 'MakesRoom', 'Restarting'].includes(type))
    .map(({ type, message }) => `${type}: ${message}`);
}

const stopped = {
  stage: 'Stopping',
  stoppingAt: '2026-01-01T00:18:30Z',
  outcome: 'Moved',
  reason: 'MadeRoom',
} as const;
const ASKED =
  'RoomAsked: 2 running jobs of lower priority make room for this job: they save and stop. It starts by 2026-01-01T00:30Z, or nodes are chosen again.';

describe('events of jobs that make room', () => {
  it.each<readonly [string, Partial<TrainingJobStatus>, readonly string[]]>([
    ['before any job is asked there are none', { claim: { ...claim, state: 'Recorded', askedAt: undefined } }, []],
    ['the waiting job says how many are asked', { claim }, [ASKED]],
    [
      'and why it did not start',
      {
        claim: {
          ...claim,
          state: 'Ended',
          end: { at: '2026-01-01T00:30:00Z', reason: 'Expired', message: 'Too late.' },
        },
      },
      [ASKED, 'RoomNotMade: The job did not start on the nodes that others left for it. Too late.'],
    ],
    [
      'a job of the same namespace is named',
      { attempts: [anAttempt({ ...stopped, forClaim: { ...forClaim, name: 'big' } })] },
      ['MakesRoom: Attempt 1 makes room for job big of priority 100. It saves and stops until 2026-01-01T00:19Z.'],
    ],
    [
      'one of another namespace is not',
      { attempts: [anAttempt({ ...stopped, forClaim })] },
      [
        'MakesRoom: Attempt 1 makes room for a job of another namespace (UID c) of priority 100. It saves and stops until 2026-01-01T00:19Z.',
      ],
    ],
  ])('%s', (_sentence, status, events) => {
    expect(eventsOf(status)).toEqual(events);
  });
});
