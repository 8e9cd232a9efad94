import type { TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { anAttempt, aStatus } from '../testing/jobs.ts';
import { EndArbiter } from './end-arbiter.ts';
import type { EndProposal } from './judge-ends.ts';

const PROPOSAL: EndProposal = { cause: 'hang', run: 'e1i1', isDue: true, nodes: [], switches: [], claims: [] };

/** Two gangs of one namespace: one end for each cause in a window. */
class Setup {
  nowMs = Date.parse('2026-01-01T00:00:00Z');
  jobs: readonly TrainingJob[] = ['a', 'b'].map((uid) => aJobOf(uid));
  readonly arbiter = new EndArbiter({ jobs: () => this.jobs, now: () => new Date(this.nowMs) });

  /** One observation of the job, which proposes these ends. */
  observe(uid: string, ...proposals: readonly Partial<EndProposal>[]): readonly string[] {
    const job = this.jobs.find(({ metadata }) => metadata.uid === uid) ?? aJobOf(uid);
    const ends = this.arbiter.observe(job);
    const rulings = proposals.map((one) => ends.ruleOn({ ...PROPOSAL, ...one }).kind);
    ends.finish();
    return rulings;
  }

  become(uid: string, status: Partial<TrainingJobStatus>): void {
    this.jobs = this.jobs.map((job) => (job.metadata.uid === uid ? aJobOf(uid, status) : job));
  }
}

function aJobOf(uid: string, status: Partial<TrainingJobStatus> = {}, namespace = 'research'): TrainingJob {
  return aTrainingJob({ metadata: { uid, name: uid, namespace }, status: aStatus(status) });
}

describe('the arbiter', () => {
  it('grants an end again in each observation until it is recorded', () => {
    const setup = new Setup();
    expect([setup.observe('a', {}), setup.observe('a', {})]).toEqual([['granted'], ['granted']]);
    expect(setup.observe('b', {})).toEqual(['held']);
  });

  it('gives the share back if the end is proposed no more while the gang runs on', () => {
    const setup = new Setup();
    setup.observe('a', {});
    setup.observe('a');
    expect(setup.observe('b', {})).toEqual(['granted']);
  });

  it('counts an end that was recorded for five minutes', () => {
    const setup = new Setup();
    setup.observe('a', {});
    setup.become('a', { attempts: [anAttempt({ stage: 'Stopping', outcome: 'Failed', reason: 'Hung' })] });
    setup.observe('a');
    expect(setup.observe('b', {})).toEqual(['held']);
    setup.nowMs += 300_000;
    expect(setup.observe('b', {})).toEqual(['granted']);
  });

  it('knows from status what an earlier leader ended', () => {
    const setup = new Setup();
    const stoppingAt = new Date(setup.nowMs - 60_000).toISOString();
    setup.become('a', { attempts: [anAttempt({ stage: 'Stopping', outcome: 'Failed', reason: 'Hung', stoppingAt })] });
    expect(setup.observe('b', {}, { cause: 'growth' })).toEqual(['held', 'granted']);
  });

  it('counts gangs that made room, and keeps what one that moves takes elsewhere', () => {
    const setup = new Setup();
    const stoppingAt = new Date(setup.nowMs - 60_000).toISOString();
    const forClaim = { uid: 'c', epoch: 1, priority: 9, wayOut: 'Move', deadline: stoppingAt } as const;
    const made = anAttempt({ stage: 'Stopping', outcome: 'Moved', reason: 'MadeRoom', stoppingAt, forClaim });
    setup.become('a', { attempts: [made] });
    const grows = { cause: 'growth', room: { neededGpus: 2, freeGpus: 3 } } as const;
    expect(setup.observe('b', { cause: 'room' }, grows, { cause: 'leaving' })).toEqual(['held', 'held', 'granted']);
    setup.become('a', { epoch: 2, attempts: [made, anAttempt({ epoch: 2 })] });
    expect(setup.observe('b', { cause: 'room' }, grows)).toEqual(['held', 'granted']);
    setup.nowMs += 300_000;
    expect(setup.observe('b', { cause: 'room' })).toEqual(['granted']);
  });

  it('keeps the room of a gang that moves until it is placed again', () => {
    const setup = new Setup();
    setup.jobs = ['a', 'b', 'c', 'd', 'e'].map((uid) => aJobOf(uid));
    const move = { cause: 'leaving', room: { neededGpus: 1, freeGpus: 1 } } as const;
    expect([setup.observe('a', move), setup.observe('b', move)]).toEqual([['granted'], ['held']]);
    setup.become('a', { attempts: [anAttempt({ epoch: 2 })] });
    expect(setup.observe('b', move)).toEqual(['granted']);
  });

  it.each<[string, Partial<TrainingJobStatus>, string]>([
    [
      'fails by itself',
      { attempts: [anAttempt({ stage: 'Stopping', outcome: 'Failed', reason: 'EngineFailed' })] },
      'granted',
    ],
    ['restarts its ranks in their pods', { attempts: [anAttempt({ incarnation: 2 })] }, 'granted'],
    ['moves', { attempts: [anAttempt({ stage: 'Stopping', outcome: 'Moved', reason: 'NodeLeaving' })] }, 'held'],
  ])(
    'of a gang that was granted a move, and %s: the share and the room of another is right',
    (_what, status, ruling) => {
      const setup = new Setup();
      const move = { cause: 'leaving', room: { neededGpus: 1, freeGpus: 1 } } as const;
      setup.observe('a', move);
      setup.become('a', status);
      setup.observe('a');
      expect(setup.observe('b', move)).toEqual([ruling]);
    },
  );

  it('answers a proposal that only asks, and grants nothing by it', () => {
    const setup = new Setup();
    expect(setup.observe('a', { asksOnly: true })).toEqual(['granted']);
    expect(setup.observe('b', {})).toEqual(['granted']);
    expect(setup.observe('a', { asksOnly: true })).toEqual(['held']);
    expect(setup.arbiter.heldByCause().hang).toBe(1);
    setup.observe('b', { asksOnly: true });
    expect(setup.observe('a', {})).toEqual(['granted']);
  });

  it('counts an end as held if the operator doubts its own view', () => {
    const setup = new Setup();
    setup.observe('a', { isDue: false, isDoubted: true });
    setup.observe('b', { isDue: false });
    expect(setup.arbiter.heldByCause().hang).toBe(1);
    setup.observe('a', { isDue: false });
    expect(setup.arbiter.heldByCause().hang).toBe(0);
  });

  it('holds two racks that stall one after the other, each for its own ten minutes, and restarts one gang below each', () => {
    const setup = new Setup();
    setup.jobs = Array.from({ length: 40 }, (_, at) => aJobOf(`job-${at}`));
    const beganAtMs = setup.nowMs;
    const endedAtMin: (readonly [string, number])[] = [];
    const observeRack = (rack: string, minute: number, startedAtMin: number): void => {
      for (let at = 0; at < 20; at += 1) {
        const uid = `job-${rack === 'a' ? at : 20 + at}`;
        const stall = { switches: [rack], beganAtMs: beganAtMs + startedAtMin * 60_000, nodes: [`node-of-${uid}`] };
        // Waits are noticed before they are due.
        const [ruling] = setup.observe(uid, { ...stall, isDue: minute > startedAtMin });
        if (ruling === 'granted') endedAtMin.push([uid, minute]);
      }
    };
    for (let minute = 0; minute <= 20; minute += 1) {
      observeRack('a', minute, 0);
      if (minute >= 3) observeRack('b', minute, 3);
      setup.nowMs += 60_000;
    }
    const first = new Map(endedAtMin.toReversed());
    expect([...first].toSorted()).toEqual([
      ['job-0', 10],
      ['job-20', 13],
    ]);
  });

  it('grants a hang at once, whatever forty gangs of another namespace report', () => {
    const setup = new Setup();
    const liars = Array.from({ length: 40 }, (_, at) => aJobOf(`liar-${at}`, {}, 'liars'));
    setup.jobs = [...liars, ...Array.from({ length: 20 }, (_, at) => aJobOf(`job-${at}`))];
    for (const { metadata } of liars) setup.observe(metadata.uid, { nodes: [`node-of-${metadata.uid}`] });
    expect(setup.observe('job-0', { nodes: ['node-x'] })).toEqual(['granted']);
  });

  it('counts held ends by cause, and forgets a job that is gone', () => {
    const setup = new Setup();
    setup.observe('a', {});
    setup.observe('b', {}, { cause: 'slow', isDue: false });
    expect(setup.arbiter.heldByCause()).toEqual({ hang: 1, slow: 0, leaving: 0, growth: 0, room: 0 });
    setup.arbiter.forget('a');
    setup.arbiter.forget('b');
    expect(setup.arbiter.heldByCause().hang).toBe(0);
    expect(setup.observe('b', {})).toEqual(['granted']);
  });
});
