import type { TrainingJob } from '@coxswain/api-types';
import { anAttempt, aTrainingJob } from '@coxswain/api-types/testing';
import type { KubeObject } from '@coxswain/kube';
import { FakeClock, settle } from '@coxswain/kube/testing';
import { GoodputRecorder } from './goodput-recorder.ts';

/** Of a namespace of its own; holds four GPUs from the clock's start on. */
function aJob(index: number): TrainingJob & KubeObject {
  const attempt = anAttempt({ startedAt: '2026-01-01T00:00:00.000Z' });
  const job = aTrainingJob({ metadata: { namespace: `n${index}`, uid: `uid-${index}` } });
  return { ...job, status: { ...job.status, epoch: 1, attempts: [attempt] } } as TrainingJob & KubeObject;
}

/** A clock on which each reading of the time takes a millisecond: a slice of 4 ms has time for a few jobs. */
class SlowClock extends FakeClock {
  override monotonicMs(): number {
    this.stall(1);
    return super.monotonicMs();
  }
}

const heldSeconds = (recorder: GoodputRecorder): number =>
  recorder.read().reduce((sum, { gpuSeconds }) => sum + gpuSeconds, 0);

describe('changes of jobs', () => {
  it('are counted in slices, and a scrape waits until all of them are', async () => {
    const clock = new SlowClock();
    const recorder = new GoodputRecorder({ clock });
    for (let index = 0; index < 20; index += 1) recorder.observe({ kind: 'added', object: aJob(index) });
    let isSettled = false;
    void recorder.settled().then(() => (isSettled = true));
    const namespacesAtEach: number[] = [];
    while (!isSettled && namespacesAtEach.length < 40) {
      await clock.advance(10);
      namespacesAtEach.push(new Set(recorder.read().map(({ namespace }) => namespace)).size);
    }
    expect(isSettled).toBe(true);
    expect(namespacesAtEach[0]).toBeLessThan(20);
    expect(namespacesAtEach.at(-1)).toBe(20);
    expect(clock.pending).toBe(0);
  });

  it('count the newest state of a job once, and no job that is gone', async () => {
    const clock = new FakeClock();
    const recorder = new GoodputRecorder({ clock });
    recorder.observe({ kind: 'added', object: aJob(1) });
    recorder.observe({ kind: 'updated', object: aJob(1), previous: aJob(1) });
    recorder.observe({ kind: 'added', object: aJob(2) });
    recorder.observe({ kind: 'deleted', object: aJob(2) });
    await clock.advance(60_000);
    expect(heldSeconds(recorder)).toBe(240);
    await clock.advance(10_000);
    expect(heldSeconds(recorder)).toBe(280);
    recorder.observe({ kind: 'deleted', object: aJob(1) });
    expect(recorder.read()).toEqual([]);
  });

  it('keep no scrape waiting after a stop, nor for longer than seconds', async () => {
    const clock = new FakeClock();
    const recorder = new GoodputRecorder({ clock });
    recorder.observe({ kind: 'added', object: aJob(1) });
    const waiting = recorder.settled();
    recorder.stop();
    await waiting;
    await settle();
    expect(clock.pending).toBe(0);
  });
});
