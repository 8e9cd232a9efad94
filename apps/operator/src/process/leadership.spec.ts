import { KubeApiError, LeaderLease, NotLeadingError } from '@coxswain/kube';
import { FakeClock, FakeKubeApi } from '@coxswain/kube/testing';
import { Leadership, type LeadershipParts } from './leadership.ts';

interface Candidate {
  readonly leadership: Leadership;
  readonly clock: FakeClock;
  /** Numbers of the terms that it worked in. */
  readonly terms: number[];
  readonly stop: AbortController;
  readonly outcome: { now: unknown };
}

/** A candidate for the one lease of `api`. */
function aCandidate(api: FakeKubeApi, identity: string, parts: Partial<LeadershipParts> = {}): Candidate {
  const clock = new FakeClock();
  const terms: number[] = [];
  const { syncCache = () => Promise.resolve(true), work = untilAborted } = parts;
  const leadership = new Leadership({
    lease: new LeaderLease({ client: api, namespace: 'ns', name: 'l', identity, clock, random: () => 0 }),
    clock,
    syncCache,
    work: (term, signal) => {
      terms.push(term);
      return work(term, signal);
    },
  });
  const stop = new AbortController();
  const outcome: { now: unknown } = { now: 'under way' };
  leadership.run(stop.signal).then(
    (why) => (outcome.now = why),
    (error: unknown) => (outcome.now = error),
  );
  return { leadership, clock, terms, stop, outcome };
}

function untilAborted(_term: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function syncWhen(finished: Promise<void>): LeadershipParts['syncCache'] {
  return (signal) => Promise.race([finished.then(() => true), untilAborted(0, signal).then(() => false)]);
}

const away = (): never => {
  throw new KubeApiError({ status: 503, reason: 'ServiceUnavailable', message: 'away' });
};

describe('leadership', () => {
  it('is taken when nobody has it, and works in that term', async () => {
    const { leadership, clock, terms } = aCandidate(new FakeKubeApi(), 'a');
    await clock.advance(1_000);
    expect([leadership.isLeader(), leadership.assertLeading(), leadership.workingTerm(), terms]).toEqual([
      true,
      1,
      1,
      [1],
    ]);
    expect(leadership.currentLeader()).toMatchObject({ identity: 'a', term: 1 });
  });

  it('is refused to whoever asks before the term', () => {
    const { leadership } = aCandidate(new FakeKubeApi(), 'a');
    expect(() => leadership.assertLeading()).toThrow(NotLeadingError);
    expect([leadership.leftMs(), leadership.workingTerm()]).toEqual([0, undefined]);
  });

  it('looks after the election and before any work, and renews its lease meanwhile', async () => {
    const observed = Promise.withResolvers<undefined>();
    const begun: boolean[] = [];
    const candidate = aCandidate(new FakeKubeApi(), 'a', {
      syncCache: (signal) => {
        begun.push(candidate.leadership.isLeader());
        return syncWhen(observed.promise)(signal);
      },
    });
    const { leadership, clock, terms } = candidate;
    await clock.advance(30_000);
    expect([begun, leadership.isLeader(), leadership.workingTerm(), terms]).toEqual([[true], true, undefined, []]);
    observed.resolve(undefined);
    await clock.advance(0);
    expect([leadership.workingTerm(), terms]).toEqual([1, [1]]);
  });

  it('is given back by one that cannot look, so that another may', async () => {
    const api = new FakeKubeApi();
    const blind = aCandidate(api, 'a', { syncCache: syncWhen(new Promise<never>(() => undefined)) });
    await blind.clock.advance(61_000);
    expect([blind.outcome.now, blind.terms, blind.leadership.isLeader()]).toEqual([
      expect.any(NotLeadingError),
      [],
      false,
    ]);
    const second = aCandidate(api, 'b');
    await second.clock.advance(3_000);
    expect(second.terms).toEqual([2]);
  });

  it('that is lost is lost for good: no second term in one process, whatever was left behind', async () => {
    const api = new FakeKubeApi();
    const { leadership, clock, terms, outcome } = aCandidate(api, 'a');
    await clock.advance(1_000);
    api.interfere = away;
    await clock.advance(12_000);
    expect([outcome.now, leadership.isLeader(), leadership.over.aborted, leadership.leftMs()]).toEqual([
      'lost',
      false,
      true,
      0,
    ]);
    api.interfere = () => undefined;
    await clock.advance(60_000);
    expect([leadership.isLeader(), terms, clock.pending]).toEqual([false, [1], 0]);
  });

  it('never has more left than the deadline of its renewal, and less as that comes nearer', async () => {
    const api = new FakeKubeApi();
    const { leadership, clock } = aCandidate(api, 'a');
    await clock.advance(21_000);
    expect(leadership.leftMs()).toBeGreaterThan(7_000);
    expect(leadership.leftMs()).toBeLessThanOrEqual(10_000);
    api.interfere = away;
    await clock.advance(6_000);
    expect(leadership.leftMs()).toBeLessThanOrEqual(4_000);
  });

  it('ends with work that failed, and is given back', async () => {
    const api = new FakeKubeApi();
    const failing = aCandidate(api, 'a', { work: () => Promise.reject(new Error('planted')) });
    await failing.clock.advance(1_000);
    expect(failing.outcome.now).toEqual(new Error('planted'));
    const second = aCandidate(api, 'b');
    await second.clock.advance(3_000);
    expect(second.terms).toEqual([2]);
  });

  it('is given back at the stop, so that another leads at once, and not before its calls were told to end', async () => {
    const api = new FakeKubeApi();
    const first = aCandidate(api, 'a');
    await first.clock.advance(1_000);
    const notified: boolean[] = [];
    api.interfere = ({ body }) => {
      const { spec } = (body ?? {}) as { readonly spec?: { readonly holderIdentity?: string } };
      if (spec?.holderIdentity === '') notified.push(first.leadership.over.aborted);
    };
    first.stop.abort();
    await first.clock.advance(100);
    const second = aCandidate(api, 'b');
    await second.clock.advance(3_000);
    expect([first.outcome.now, notified, first.leadership.isLeader(), second.terms]).toEqual([
      'released',
      [true],
      false,
      [2],
    ]);
  });
});
