import { FakeClock } from '@coxswain/kube/testing';
import type { IngestQuestion } from './ingest-messages.ts';
import { IngestPorts } from './ingest-ports.ts';
import { NewestEpochs } from '../launchers/newest-epochs.ts';
import type { ReportingPod } from './session-ports.ts';

const identity = { namespace: 'research', name: 'p', uid: 'pod-1' };
const pod: ReportingPod = {
  namespace: 'research',
  jobName: 'tiny',
  jobUid: 'job-1',
  epoch: 3,
  podIndex: 0,
  ranks: [0, 1],
};
const newest = { jobUid: 'job-1', epoch: 3, isFenced: false, incarnation: 1 };
const leading = { leading: true, term: 7, leftMs: 10_000 } as const;

function somePorts(): { ports: IngestPorts; asked: [number, IngestQuestion][]; clock: FakeClock } {
  const clock = new FakeClock();
  const asked: [number, IngestQuestion][] = [];
  return { clock, asked, ports: new IngestPorts({ clock, ask: (id, question) => void asked.push([id, question]) }) };
}

describe('the cluster as the thread of the reports sees it', () => {
  it('leads as long as it was told that the term lasts, however long the loop stands still', async () => {
    const { ports, clock } = somePorts();
    expect(ports.leadership()).toEqual({ leading: false });
    ports.receiveView({ kind: 'view', leadership: leading, jobs: [] });
    expect(ports.leadership()).toEqual({ leading: true, term: 7 });
    await clock.advance(10_000);
    expect(ports.leadership()).toEqual({ leading: false });
  });

  it('knows the newest epoch of a job from the answer about its pod on, and what becomes of it', async () => {
    const { ports, asked } = somePorts();
    const found = ports.findPod(identity);
    expect(asked).toEqual([[1, { kind: 'findPod', pod: identity }]]);
    ports.receiveAnswer({ kind: 'answer', id: 1, answer: { pod, newest } });
    expect(await found).toEqual(pod);
    expect([ports.currentEpoch('job-1'), ports.isFenced(pod)]).toEqual([3, false]);
    ports.receiveView({ kind: 'view', leadership: leading, jobs: [{ ...newest, incarnation: 2 }] });
    expect(ports.currentIncarnation('job-1')).toBe(2);
    ports.receiveView({ kind: 'view', leadership: leading, jobs: [{ ...newest, isFenced: true }] });
    expect(ports.isFenced(pod)).toBe(true);
    ports.receiveView({ kind: 'view', leadership: leading, jobs: [{ ...newest, epoch: 4 }] });
    expect([ports.currentEpoch('job-1'), ports.isFenced(pod)]).toEqual([4, false]);
    ports.receiveView({ kind: 'view', leadership: leading, jobs: [{ ...newest, epoch: undefined }] });
    expect(ports.currentEpoch('job-1')).toBeUndefined();
  });

  it('asks the loop whether a pod is known, and learns nothing else from it', async () => {
    const { ports, asked } = somePorts();
    const isKnown = ports.isKnownPod(identity);
    expect(asked).toEqual([[1, { kind: 'isKnownPod', pod: identity }]]);
    ports.receiveAnswer({ kind: 'answer', id: 1, answer: true });
    expect([await isKnown, ports.currentEpoch('job-1')]).toEqual([true, undefined]);
  });

  it('asks 64 questions at once; the others wait for an answer', async () => {
    const { ports, asked } = somePorts();
    for (let question = 0; question < 100; question += 1) void ports.findPod(identity);
    await settled();
    expect(asked).toHaveLength(64);
    for (let id = 1; id <= 10; id += 1) ports.receiveAnswer({ kind: 'answer', id, answer: { pod: 'unknown' } });
    await settled();
    expect(asked).toHaveLength(74);
  });

  it('throws where a checkpoint could not be recorded, so that the session tries again', async () => {
    const { ports } = somePorts();
    const recorded = ports.recordCheckpoint(pod, {} as never);
    ports.receiveAnswer({ kind: 'answer', id: 1, answer: 'failed' });
    await expect(recorded).rejects.toThrow('cannot be recorded');
  });
});

describe('which epochs the loop tells of', () => {
  it('tells what changed since it was told, and once that a job is gone', () => {
    const jobs = new Map([['job-1', { epoch: 3, isFenced: false, incarnation: 1 }]]);
    const epochs = new NewestEpochs(
      (jobUid) => jobs.get(jobUid) ?? { epoch: undefined, isFenced: false, incarnation: 1 },
    );
    expect(epochs.follow('job-1')).toEqual(newest);
    expect(epochs.changes()).toEqual([]);
    jobs.set('job-1', { epoch: 3, isFenced: true, incarnation: 1 });
    expect(epochs.changes()).toEqual([{ ...newest, isFenced: true }]);
    expect(epochs.changes()).toEqual([]);
    jobs.set('job-1', { epoch: 3, isFenced: false, incarnation: 2 });
    expect(epochs.changes()).toEqual([{ ...newest, incarnation: 2 }]);
    jobs.delete('job-1');
    expect(epochs.changes()).toEqual([{ ...newest, epoch: undefined }]);
    expect(epochs.changes()).toEqual([]);
  });

  it('tells of a job whose ranks are to save, and again where they are asked once more, though its epoch is the same', () => {
    const view = { epoch: 3, isFenced: false, incarnation: 1 };
    let saveRequest: number | undefined;
    const epochs = new NewestEpochs(() => (saveRequest === undefined ? view : { ...view, saveRequest }));
    expect(epochs.follow('job-1')).toEqual(newest);
    for (const request of [1, 2]) {
      saveRequest = request;
      expect(epochs.changes()).toEqual([{ ...newest, saveRequest: request }]);
      expect(epochs.changes()).toEqual([]);
    }
    saveRequest = undefined;
    expect(epochs.changes()).toEqual([newest]);
  });
});

/** Whatever waits for a promise that is settled has gone on. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}
