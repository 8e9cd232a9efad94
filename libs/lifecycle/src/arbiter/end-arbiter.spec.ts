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

function aJobOf(uid: string, status: Partial<TrainingJobStatus> = {}): TrainingJob {
  return aTrainingJob({ metadata: { uid, name: uid }, status: aStatus(status) });
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

  it('keeps the room of a gang that moves until it is placed again', () => {
    const setup = new Setup();
    setup.jobs = ['a', 'b', 'c', 'd', 'e'].map((uid) => aJobOf(uid));
    const move = { cause: 'leaving', room: { needed: 1, free: 1 } } as const;
    expect([setup.observe('a', move), setup.observe('b', move)]).toEqual([['granted'], ['held']]);
    setup.become('a', { attempts: [anAttempt({ epoch: 2 })] });
    expect(setup.observe('b', move)).toEqual(['granted']);
  });

  it('counts held ends by cause, and forgets a job that is gone', () => {
    const setup = new Setup();
    setup.observe('a', {});
    setup.observe('b', {}, { cause: 'slow', isDue: false });
    expect(setup.arbiter.heldByCause()).toEqual({ hang: 1, slow: 0, leaving: 0, growth: 0 });
    setup.arbiter.forget('a');
    setup.arbiter.forget('b');
    expect(setup.arbiter.heldByCause().hang).toBe(0);
    expect(setup.observe('b', {})).toEqual(['granted']);
  });
});
