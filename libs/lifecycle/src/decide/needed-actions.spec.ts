/** Which Events a user gets: a warning for what needs an action, and none for normal life. */
import { type Attempt, type Condition, JOB_EVENTS, type TrainingJobStatus } from '@coxswain/api-types';
import { aTrainingJob, anAttempt, anIncident } from '@coxswain/api-types/testing';
import { jobEvents } from './job-events.ts';

const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`;
const condition = (type: Condition['type'], reason: string, status: Condition['status'] = 'False'): Condition => ({
  type,
  status,
  reason,
  message: `${reason}.`,
  observedGeneration: 1,
  lastTransitionTime: at(5),
});
const ended = (changes: Partial<Attempt>): Attempt =>
  anAttempt({ stage: 'Ended', stoppingAt: at(6), endedAt: at(7), message: 'It ended.', ...changes });
const failed = (changes: Partial<Attempt> = {}): Attempt =>
  ended({ outcome: 'Failed', reason: 'EngineFailed', charged: true, answer: 'Restart', ...changes });

/** Events after the submission, as `Type (severity)`. */
function eventsOf(status: Partial<TrainingJobStatus>): readonly string[] {
  const job = aTrainingJob({ status: { epoch: 1, restarts: { total: 0, charged: 0 }, ...status } });
  const found = jobEvents({ job, placements: [], checkpoints: [] });
  for (const { type, severity } of found) expect(JOB_EVENTS[type].severities).toContain(severity);
  return found.slice(1).map(({ type, severity }) => `${type} (${severity})`);
}
const warningsOf = (status: Partial<TrainingJobStatus>): readonly string[] =>
  eventsOf(status).filter((words) => !words.endsWith('(info)'));

describe('a user is warned', () => {
  const starting = anAttempt({ stage: 'Released', releasedAt: at(2) });
  it.each<[string, Partial<TrainingJobStatus>, string]>([
    [
      'of an image that is missing',
      { attempts: [starting], conditions: [condition('Running', 'ImageUnavailable')] },
      'Waiting (warning)',
    ],
    [
      'of a Secret that is missing',
      { attempts: [starting], conditions: [condition('Running', 'SecretMissing')] },
      'Waiting (warning)',
    ],
    [
      'of a pod that cannot start',
      { attempts: [starting], conditions: [condition('Running', 'PodStuck')] },
      'Waiting (warning)',
    ],
    [
      'of checkpoints that cannot be used',
      { conditions: [condition('Placed', 'CheckpointsUnusable')] },
      'Waiting (warning)',
    ],
    ['of a spec that cannot run', { conditions: [condition('Placed', 'NotAccepted')] }, 'Waiting (warning)'],
    ['of a claim that does not exist', { conditions: [condition('Placed', 'ObjectMissing')] }, 'Waiting (warning)'],
    [
      'of a quota that refuses the first pod in a dry run, so that no attempt begins',
      { conditions: [condition('Placed', 'PodsRefused')] },
      'Waiting (warning)',
    ],
    [
      'once of a quota that refused the pods of an attempt',
      { attempts: [failed({ reason: 'PodsRefused' })], conditions: [condition('Placed', 'PodsRefused')] },
      'Waiting (warning)',
    ],
    ['of a quota that refuses pods', { attempts: [failed({ reason: 'PodsRefused' })] }, 'Waiting (warning)'],
    [
      'of a checkpoint whose object is refused',
      { conditions: [condition('CheckpointsRecorded', 'CheckpointRefused')] },
      'CheckpointRefused (warning)',
    ],
    [
      'of ranks that train otherwise than asked',
      { conditions: [condition('TrainedAsAsked', 'LayoutDiffers')] },
      'LayoutDiffers (warning)',
    ],
    ['of a failure', { attempts: [failed()] }, 'RankFailed (warning)'],
    [
      'of the last restart',
      { attempts: [failed()], restarts: { total: 3, charged: 3 } },
      'RankFailed (warning), RestartsNearlySpent (warning)',
    ],
    [
      'of the end of the job, with its cause',
      {
        attempts: [failed({ answer: 'GiveUp' })],
        restarts: { total: 3, charged: 3 },
        conditions: [condition('Failed', 'RestartsExhausted', 'True')],
      },
      'Failed (error), RankFailed (error)',
    ],
    [
      'of an incident',
      { incidents: [anIncident({ id: '1.1-slowRank-r3', kind: 'SlowRank' })] },
      'IncidentNoticed (warning)',
    ],
  ])('%s', (_what, status, want) => {
    expect(warningsOf(status).join(', ')).toBe(want);
  });
});

describe('a user is not warned', () => {
  const earlySave: NonNullable<Attempt['earlySave']> = {
    request: 1,
    incarnation: 1,
    askedAt: at(3),
    afterStep: 20,
    why: 'XID 13.',
    suspicions: ['xid'],
    outcome: 'Saved',
  };
  it.each<[string, Partial<TrainingJobStatus>, string]>([
    ['of a wait for GPUs', { conditions: [condition('Placed', 'WaitingForCapacity')] }, 'Waiting'],
    ['of a suspend', { attempts: [ended({ outcome: 'Suspended', reason: 'SuspendRequested' })] }, 'Suspended'],
    ['of a resize', { attempts: [ended({ outcome: 'Resized', reason: 'GpusFree' })] }, 'Restarting'],
    ['of a move', { attempts: [ended({ outcome: 'Moved', reason: 'NodeLeaving' })] }, 'Restarting'],
    [
      'of a node that leaves as announced',
      { incidents: [anIncident({ id: '1.1-nodeLeaving', kind: 'NodeLeaving', action: 'Moved' })] },
      'IncidentNoticed',
    ],
    ['of a cancel', { conditions: [condition('Failed', 'Cancelled', 'True')] }, 'Cancelled'],
    ['of a save that was asked for and made', { attempts: [anAttempt({ earlySave })] }, 'SaveAsked'],
    ['of an attempt that had run nothing', { attempts: [failed({ reason: 'PlacementLost' })] }, 'RankFailed'],
    [
      'of an attempt that ended because a newer checkpoint verified',
      { attempts: [failed({ reason: 'CheckpointIoError', verifiedCheckpoint: 'tiny-s40' })] },
      'RankFailed',
    ],
    ['of containers that start', { attempts: [anAttempt()], conditions: [condition('Running', 'PodsStarting')] }, ''],
    ['of training as asked', { conditions: [condition('TrainedAsAsked', 'NothingDiffers', 'True')] }, ''],
    [
      'of a job without restarts left that has ended well',
      { restarts: { total: 3, charged: 3 }, conditions: [condition('Complete', 'AllRanksSucceeded', 'True')] },
      'Completed',
    ],
  ])('%s', (_what, status, type) => {
    expect(warningsOf(status)).toEqual([]);
    if (type !== '') expect(eventsOf(status).join(', ')).toContain(`${type} (info)`);
  });
});

describe('the Event of a job that failed', () => {
  it('opens with what failed and why the job ended; what ranks wrote begins on another line', () => {
    const message = 'Rank 1 on node gpu-b exited with code 1.\nLast lines of its log:\nValueError: secret words';
    const judgement = { rule: 'default', action: 'Restart', class: 'PythonException', blame: 'program' } as const;
    const attempts = [failed({ answer: 'GiveUp', message, judgement, origin: { rank: 1 } })];
    const conditions = [condition('Failed', 'RestartsExhausted', 'True')];
    const job = aTrainingJob({ status: { epoch: 1, restarts: { total: 3, charged: 3 }, attempts, conditions } });
    const end = jobEvents({ job, placements: [], checkpoints: [] }).find(({ type }) => type === 'Failed');
    expect(end?.message.split('\n')).toEqual([
      'Attempt 1 failed: Rank 1 on node gpu-b exited with code 1. The job ended because its restarts are spent.',
      expect.stringContaining('coxswain logs tiny-gpt --rank 1 --attempt 1'),
      'ValueError: secret words',
    ]);
  });
});
