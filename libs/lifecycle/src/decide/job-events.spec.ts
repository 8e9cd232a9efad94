import { type Attempt, FINALIZER, type TrainingJob } from '@coxswain/api-types';
import { aTrainingJob, aVerification } from '@coxswain/api-types/testing';
import { decide } from './decide.ts';
import { jobEvents } from './job-events.ts';
import { aCapacity, aCheckpoint, aNode, anExit, aPlacement, aPod, observe } from '../testing/index.ts';

const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`;
const layout = aTrainingJob().spec.layout;

const first: Attempt = {
  epoch: 1,
  stage: 'Ended',
  placement: 'tiny-gpt-3f1c2b9e-e1',
  layout,
  startedAt: at(1),
  releasedAt: at(2),
  runningAt: at(3),
  stoppingAt: at(6),
  endedAt: at(7),
  outcome: 'Failed',
  reason: 'EngineFailed',
  message: 'Rank 1 on node node-a exited with code 1.',
  charged: true,
  answer: 'Restart',
};
const second: Attempt = {
  epoch: 2,
  stage: 'Ended',
  placement: 'tiny-gpt-3f1c2b9e-e2',
  layout,
  resumedFrom: { checkpoint: 'tiny-gpt-3f1c2b9e-e1-s20', step: 20 },
  startedAt: at(8),
  releasedAt: at(9),
  runningAt: at(10),
  stoppingAt: at(11),
  endedAt: at(11),
  outcome: 'Succeeded',
};

function aFinishedJob(): TrainingJob {
  const job = aTrainingJob({
    metadata: { finalizers: [FINALIZER] },
    status: { epoch: 2, restarts: { total: 1, charged: 1 }, attempts: [first, second] },
  });
  return { ...job, status: decide(observe({ job }), new Date(at(11))).status };
}

describe('the history of a job', () => {
  it('is told in order and in plain words', () => {
    const job = aFinishedJob();
    const placements = [aPlacement(job), aPlacement(job, { epoch: 2, nodes: ['node-c', 'node-d'] })];
    const jobsEvents = jobEvents({ job, placements, checkpoints: [aCheckpoint(job)] });
    expect(jobsEvents.map(({ type, message }) => `${type}: ${message}`)).toEqual([
      'Submitted: Job tiny-gpt was submitted. It asks for 4 GPUs (tp2 x dp2).',
      'Placed: Attempt 1 is placed: ranks 0-1 on node-a, ranks 2-3 on node-b.',
      'Started: All pods of attempt 1 exist; they start together, from scratch.',
      'Running: Attempt 1 runs with 4 ranks (tp2 x dp2).',
      'CheckpointSaved: Checkpoint tiny-gpt-3f1c2b9e-e1-s20 of step 20 is saved and verified (1000 B).',
      'RankFailed: EngineFailed: Rank 1 on node node-a exited with code 1.',
      'Restarting: The gang of attempt 1 is removed and restarts as attempt 2; this counts against its restarts.',
      'Placed: Attempt 2 is placed: ranks 0-1 on node-c, ranks 2-3 on node-d.',
      'Started: All pods of attempt 2 exist; they start together, from step 20 (checkpoint tiny-gpt-3f1c2b9e-e1-s20).',
      'Running: Attempt 2 runs with 4 ranks (tp2 x dp2).',
      'Resumed: Training resumes from step 20 (checkpoint tiny-gpt-3f1c2b9e-e1-s20).',
      'Completed: Every rank of attempt 2 finished.',
    ]);
  });

  it('does not say of a checkpoint whose bytes were found broken that it is verified', () => {
    const job = aFinishedJob();
    const findings = [{ kind: 'incomplete' as const, message: 'File __1_0.distcp is not there.' }];
    const verification = aVerification({ verdict: 'incomplete', node: 'node-a', findings });
    const checkpoint = { ...aCheckpoint(job), status: { state: 'Complete' as const, verification } };
    const shown = jobEvents({ job, placements: [], checkpoints: [checkpoint] }).filter(({ key }) =>
      key.startsWith('checkpoint/'),
    );
    expect(shown.map(({ type, message }) => `${type}: ${message}`)).toEqual([
      'CheckpointSuspect: Checkpoint tiny-gpt-3f1c2b9e-e1-s20 of step 20 is not used unless another node finds it sound: it is incomplete, as a verification of its bytes on node-a found: File __1_0.distcp is not there.',
    ]);
  });

  it('gives each event a key of its own', () => {
    const job = aFinishedJob();
    const keys = jobEvents({
      job,
      placements: [],
      checkpoints: [aCheckpoint(job), aCheckpoint(job, { spec: { step: 40 } })],
    }).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toEqual(
      expect.arrayContaining([
        'Submitted',
        'e1/RankFailed',
        'e2/Resumed',
        'checkpoint/tiny-gpt-3f1c2b9e-e1-s20/CheckpointSaved',
      ]),
    );
  });

  it('says what a suspended job does and where it goes on', () => {
    const { answer: _, charged: __, message: ___, ...rest } = first;
    const suspended: Attempt = { ...rest, outcome: 'Suspended', reason: 'SuspendRequested' };
    const job = aTrainingJob({
      status: { epoch: 2, restarts: { total: 0, charged: 0 }, attempts: [suspended, second] },
    });
    const types = jobEvents({ job, placements: [], checkpoints: [] }).map(({ key }) => key);
    expect(types).toEqual(expect.arrayContaining(['e1/Suspended', 'e2/Resuming']));
  });

  it('names only the first nodes of a large gang', () => {
    const job = aTrainingJob({ status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts: [first] } });
    const nodes = Array.from({ length: 2048 }, (_, index) => `n${index}`);
    const placements = [aPlacement(job, { nodes, worldSize: 16_384, ranksPerPod: 8 })];
    const placed = jobEvents({ job, placements, checkpoints: [] }).find(({ type }) => type === 'Placed');
    expect(placed?.message).toMatch(/ranks 56-63 on n7 and 2040 more nodes\.$/);
  });

  it('never holds a time that cannot be read', () => {
    const attempts = [{ ...first, startedAt: 'yesterday', stoppingAt: '' }];
    const job = aTrainingJob({ status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts } });
    const times = jobEvents({ job, placements: [], checkpoints: [] }).map((jobsEvents) => Date.parse(jobsEvents.at));
    expect(times.some(Number.isNaN)).toBe(false);
  });

  it('survives a resource full of nonsense', () => {
    const job = { ...aTrainingJob(), spec: null, status: { attempts: 'many' } } as unknown as TrainingJob;
    expect(jobEvents({ job, placements: [], checkpoints: [] }).map(({ key }) => key)).toEqual(['Submitted']);
  });
});

describe('what a decision announces', () => {
  const now = new Date(at(20));
  const released = aTrainingJob({
    metadata: { finalizers: [FINALIZER] },
    status: {
      epoch: 1,
      restarts: { total: 0, charged: 0 },
      attempts: [
        { epoch: 1, stage: 'Released', placement: first.placement, layout, startedAt: at(1), releasedAt: at(19) },
      ],
    },
  });

  it('is what its change of status adds to the history', () => {
    const pods = [aPod(released, { phase: 'Failed', exit: anExit() })];
    const seen = observe({ job: released, pods, placements: [aPlacement(released)] });
    const decision = decide(seen, now);
    expect(decision.events.map(({ key }) => key)).toEqual(['e1/RankFailed', 'e1/Restarting']);
    const again = decide({ ...seen, job: { ...released, status: decision.status } }, now);
    expect(again.events).toEqual([]);
  });

  it('begins with the submission, and tells of the placement as soon as it is recorded', () => {
    const { events } = decide(observe(), now);
    expect(events.map(({ key }) => key)).toEqual(['Submitted', 'e1/Placed']);
    expect(events[1]?.message).toMatch(/^Attempt 1 is placed: .*node-a.*node-b/);
  });

  it('says once why a job waits', () => {
    const capacity = (): ReturnType<typeof aCapacity> =>
      aCapacity([aNode(), aNode({ name: 'node-b' })], { 'node-a': 1 });
    const events = decide(observe({ capacity }), now).events.map(({ key }) => key);
    expect(events).toEqual(['Submitted', 'e1/Waiting/WaitingForCapacity']);
  });
});
