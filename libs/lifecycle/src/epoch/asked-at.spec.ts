import { type Attempt, type Condition, findCondition } from '@coxswain/api-types';
import { settled, aJob, anAttempt, aStatus, NOW } from '../testing/jobs.ts';
import { aCapacity, observe, World } from '../testing/index.ts';

const CREATED = '2026-01-01T00:00:00Z';
const WAITED = '2026-01-01T00:05:00Z';
const STARTED = '2026-01-01T00:10:00Z';

/** The recorded condition Placed, since WAITED. */
function placed(reason: string, status: Condition['status'] = 'False'): Condition {
  return { type: 'Placed', status, reason, message: '', lastTransitionTime: WAITED, observedGeneration: 1 };
}

const ended = (epoch: number, outcome: Attempt['outcome'], startedAt: string): Attempt =>
  anAttempt({ epoch, stage: 'Ended', outcome, startedAt });

describe('a job that waits for GPUs asks', () => {
  it.each<[string, Parameters<typeof aStatus>[0] | undefined, string]>([
    ['since it was created, when it is new', undefined, CREATED],
    [
      'since the recorded time, after a restart too',
      { askedAt: STARTED, attempts: [ended(1, 'Failed', WAITED)] },
      STARTED,
    ],
    [
      'since it began to wait, when the release before wrote its status',
      { attempts: [], conditions: [placed('WaitingForCapacity')] },
      WAITED,
    ],
    [
      'from now on, when it was suspended until now',
      { attempts: [], conditions: [placed('Suspended')] },
      NOW.toISOString(),
    ],
    [
      'from now on, when its spec was refused until now',
      { attempts: [], conditions: [placed('NotAccepted')] },
      NOW.toISOString(),
    ],
    [
      'since its first attempt, when the release before ran it until now',
      {
        attempts: [ended(1, 'Failed', STARTED), ended(2, 'Failed', WAITED)],
        conditions: [placed('GangPlaced', 'True')],
      },
      STARTED,
    ],
    [
      'since the first attempt after it was suspended',
      {
        attempts: [ended(1, 'Suspended', CREATED), ended(2, 'Failed', STARTED)],
        conditions: [placed('GangPlaced', 'True')],
      },
      STARTED,
    ],
  ])('%s', (_sentence, status, want) => {
    const about = status === undefined ? {} : { status: aStatus(status) };
    const job = aJob({ metadata: { creationTimestamp: CREATED }, ...about });
    expect(settled(observe({ job, capacity: () => aCapacity([]) })).status.askedAt).toBe(want);
  });

  it('no more while it is suspended', () => {
    const job = aJob({ spec: { suspend: true }, status: aStatus({ askedAt: WAITED, attempts: [] }) });
    expect(settled(observe({ job })).status.askedAt).toBeUndefined();
  });

  it('and keeps its place through a failure, although condition Placed changed since', () => {
    const world = new World(aJob(), { gpuCapacity: 2 }, ['node-a', 'node-b']);
    const turn = (times: number): void => {
      for (let round = 0; round < times; round += 1) {
        world.reconcile();
        world.tick(1_000);
      }
    };
    turn(20);
    const asked = world.job?.status?.askedAt;
    world.apply({ kind: 'loseRack', nodes: ['node-b'] });
    turn(400);
    const { status } = world.job ?? {};
    expect(asked).toBeDefined();
    expect(findCondition(status?.conditions, 'Placed')?.status).toBe('False');
    expect(Date.parse(findCondition(status?.conditions, 'Placed')?.lastTransitionTime ?? '')).toBeGreaterThan(
      Date.parse(asked ?? ''),
    );
    expect(status?.askedAt).toBe(asked);
  });
});
