import { EventRecorder, type RecordedEvent } from './events.ts';
import { KubeApiError } from './errors.ts';
import { FakeClock, settle } from './testing/index.ts';

interface WrittenEvent {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly note: string;
  readonly reason: string;
  readonly regarding: Readonly<Record<string, unknown>>;
}

const anEvent = (overrides: Partial<RecordedEvent> = {}, name = 'tiny'): RecordedEvent => ({
  regarding: {
    apiVersion: 'training.coxswain.dev/v1alpha1',
    kind: 'TrainingJob',
    metadata: { name, namespace: 'research', uid: `uid-of-${name}`, resourceVersion: '7' },
  },
  type: 'Normal',
  reason: 'Released',
  action: 'Reconcile',
  note: 'The gang was released.',
  ...overrides,
});

function aRecorder(create?: () => Promise<unknown>): {
  recorder: EventRecorder;
  clock: FakeClock;
  written: { path: string; event: WrittenEvent }[];
  dropped: string[];
  errors: unknown[];
} {
  const clock = new FakeClock();
  const written: { path: string; event: WrittenEvent }[] = [];
  const dropped: string[] = [];
  const errors: unknown[] = [];
  const recorder = new EventRecorder({
    client: {
      create: async <T>(path: string, event: unknown): Promise<T> => {
        await create?.();
        written.push({ path, event: event as WrittenEvent });
        return event as T;
      },
    },
    clock,
    reportingController: 'coxswain.dev/operator',
    reportingInstance: 'operator-0',
    onError: (error) => void errors.push(error),
    metrics: { count: (_name, labels) => void dropped.push(labels?.['cause'] ?? ''), observe: () => undefined },
  });
  return { recorder, clock, written, dropped, errors };
}

describe('an event', () => {
  it('says what happened to which very object, in the object’s namespace', async () => {
    const { recorder, written } = aRecorder();
    expect(recorder.record(anEvent())).toBe(true);
    await recorder.flush();
    expect(written).toMatchObject([
      {
        path: '/apis/events.k8s.io/v1/namespaces/research/events',
        event: {
          type: 'Normal',
          reason: 'Released',
          note: 'The gang was released.',
          eventTime: '2026-01-01T00:00:00.000000Z',
          reportingController: 'coxswain.dev/operator',
          reportingInstance: 'operator-0',
          regarding: {
            kind: 'TrainingJob',
            name: 'tiny',
            namespace: 'research',
            uid: 'uid-of-tiny',
            resourceVersion: '7',
          },
        },
      },
    ]);
  });

  it('of the same object and reason is written once a minute', async () => {
    const { recorder, clock, written, dropped } = aRecorder();
    expect([recorder.record(anEvent()), recorder.record(anEvent({ note: 'Another.' }))]).toEqual([true, false]);
    await clock.advance(59_999);
    expect(recorder.record(anEvent())).toBe(false);
    await clock.advance(1);
    expect(recorder.record(anEvent())).toBe(true);
    expect([written.length, dropped]).toEqual([1, ['repeated', 'repeated']]);
  });

  it('of another reason or object is not held back by it', () => {
    const { recorder } = aRecorder();
    const events = [anEvent(), anEvent({ reason: 'Placed' }), anEvent({}, 'other')];
    expect(events.map((event) => recorder.record(event))).toEqual([true, true, true]);
  });

  it.each([
    ['short', 'x'.repeat(1_024), 'x'.repeat(1_024)],
    ['long', 'x'.repeat(1_025), `${'x'.repeat(1_021)}…`],
    ['long in characters of two bytes', 'é'.repeat(600), `${'é'.repeat(510)}…`],
    ['long in characters of four bytes', '🚀'.repeat(300), `${'🚀'.repeat(255)}…`],
  ])('with a note that is %s keeps within 1,024 bytes and cuts no character', async (_what, note, want) => {
    const { recorder, written } = aRecorder();
    recorder.record(anEvent({ note }));
    await recorder.flush();
    const seen = written[0]?.event.note ?? '';
    expect(seen).toBe(want);
    expect(Buffer.byteLength(seen)).toBeLessThanOrEqual(1_024);
  });

  it('has a name that Kubernetes takes, however long the object’s is', async () => {
    const { recorder, written } = aRecorder();
    recorder.record(anEvent({}, `${'a'.repeat(199)}--b`));
    await recorder.flush();
    expect(written[0]?.event.metadata.name).toMatch(/^a{199}\.[0-9a-f]{16}$/);
  });
});

describe('a recorder', () => {
  it('never fails its caller: an event that cannot be written is counted and told', async () => {
    const refusal = new KubeApiError({ status: 403, reason: 'Forbidden', message: 'no' });
    const { recorder, dropped, errors } = aRecorder(() => Promise.reject(refusal));
    expect(recorder.record(anEvent())).toBe(true);
    await recorder.flush();
    expect([dropped, errors]).toEqual([['failed'], [refusal]]);
  });

  it('drops rather than piles up: at most 32 are under way', async () => {
    const answer = Promise.withResolvers<void>();
    const { recorder, dropped, written } = aRecorder(() => answer.promise);
    const accepted = Array.from({ length: 40 }, (_, index) => recorder.record(anEvent({}, `job-${index}`)));
    expect(accepted.filter(Boolean)).toHaveLength(32);
    expect(dropped).toEqual(Array.from({ length: 8 }, () => 'busy'));
    answer.resolve();
    await recorder.flush();
    expect(written).toHaveLength(32);
    expect(recorder.record(anEvent({}, 'job-39'))).toBe(true);
  });

  it('waits at its end for what is under way', async () => {
    const answer = Promise.withResolvers<void>();
    const { recorder } = aRecorder(() => answer.promise);
    recorder.record(anEvent());
    let hasFlushed = false;
    const flushed = recorder.flush().then(() => (hasFlushed = true));
    await settle();
    expect(hasFlushed).toBe(false);
    answer.resolve();
    await flushed;
  });
});
