import type { TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import type { CacheChange, KubeObject } from '@coxswain/kube';
import { FakeClock } from '@coxswain/kube/testing';
import { FinishedJobs } from './finished-jobs.ts';

type Job = TrainingJob & KubeObject;

function aJob(type?: 'Complete' | 'Failed' | 'Suspended', status = 'True'): Job {
  const job = aTrainingJob({ metadata: { uid: 'uid-1' } });
  const conditions = type === undefined ? [] : [{ type, status }];
  return { ...job, status: { ...job.status, conditions } } as unknown as Job;
}

const updated = (previous: Job, object: Job): CacheChange<Job> => ({ kind: 'updated', object, previous });

describe('a job that is finished', () => {
  it.each<[string, readonly CacheChange<Job>[], readonly string[]]>([
    ['is told of when it is complete', [updated(aJob(), aJob('Complete'))], ['uid-1']],
    ['is told of when it has failed', [updated(aJob(), aJob('Failed'))], ['uid-1']],
    [
      'is told of once, whatever changes later',
      [updated(aJob(), aJob('Failed')), updated(aJob('Failed'), aJob('Failed'))],
      ['uid-1'],
    ],
    ['is none that was finished at the first list', [{ kind: 'added', object: aJob('Complete') }], []],
    ['is none that is suspended', [updated(aJob(), aJob('Suspended'))], []],
    ['is none whose end is not so', [updated(aJob(), aJob('Failed', 'False'))], []],
    ['is none that was deleted', [updated(aJob(), aJob('Failed')), { kind: 'deleted', object: aJob('Failed') }], []],
  ])('%s', async (_, changes, wanted) => {
    const clock = new FakeClock();
    const told: string[] = [];
    const finished = new FinishedJobs({ clock, onFinished: (uid) => void told.push(uid) });
    for (const change of changes) finished.observe(change);
    await clock.advance(59_999);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual(wanted);
    expect(clock.pending).toBe(0);
  });

  it('leaves no timer behind when the operator stops', () => {
    const clock = new FakeClock();
    const finished = new FinishedJobs({ clock, onFinished: () => undefined });
    finished.observe(updated(aJob(), aJob('Failed')));
    finished.stop();
    expect(clock.pending).toBe(0);
  });
});
