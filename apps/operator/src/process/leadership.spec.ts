import { KubeApiError, LeaderLease, NotLeadingError } from '@coxswain/kube';
import { FakeClock, FakeKubeApi } from '@coxswain/kube/testing';
import { createLogger } from '@coxswain/telemetry';
import { Leadership } from './leadership.ts';

interface Candidate {
  readonly leadership: Leadership;
  readonly clock: FakeClock;
  /** Numbers of the terms that it worked in. */
  readonly terms: number[];
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** A candidate for the one lease of `api`; leading, it does `work`. */
function aCandidate(api: FakeKubeApi, identity: string, work = untilAborted): Candidate {
  const clock = new FakeClock();
  const terms: number[] = [];
  const leadership = new Leadership({
    newLease: () => new LeaderLease({ client: api, namespace: 'ns', name: 'l', identity, clock, random: () => 0 }),
    clock,
    log: createLogger({ program: identity, level: 'silent' }),
    work: (term, signal) => {
      terms.push(term);
      return work(term, signal);
    },
  });
  const stop = new AbortController();
  return { leadership, clock, terms, stop, done: leadership.run(stop.signal) };
}

function untilAborted(_term: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

describe('leadership', () => {
  it('is taken when nobody has it, and works in that term', async () => {
    const { leadership, clock, terms } = aCandidate(new FakeKubeApi(), 'a');
    await clock.advance(1_000);
    expect([leadership.isLeader(), leadership.assertLeading(), terms]).toEqual([true, 1, [1]]);
    expect(leadership.currentLeader()).toMatchObject({ identity: 'a', term: 1 });
  });

  it('is refused to whoever asks before the first term', () => {
    const { leadership } = aCandidate(new FakeKubeApi(), 'a');
    expect(() => leadership.assertLeading()).toThrow(NotLeadingError);
  });

  it('that is lost ends the work and not the process: it leads again in a later term', async () => {
    const api = new FakeKubeApi();
    const { leadership, clock, terms } = aCandidate(api, 'a');
    await clock.advance(1_000);
    api.interfere = () => {
      throw new KubeApiError({ status: 503, reason: 'ServiceUnavailable', message: 'away' });
    };
    await clock.advance(12_000);
    expect(leadership.isLeader()).toBe(false);
    api.interfere = () => undefined;
    await clock.advance(30_000);
    expect([leadership.isLeader(), terms]).toEqual([true, [1, 2]]);
  });

  it('goes on after work that failed, in a term of its own', async () => {
    let failures = 1;
    const { clock, terms } = aCandidate(new FakeKubeApi(), 'a', async (term, signal) => {
      if (failures-- > 0) throw new Error('planted');
      await untilAborted(term, signal);
    });
    await clock.advance(30_000);
    expect(terms).toEqual([1, 2]);
  });

  it('is given back at the stop, so that another leads at once', async () => {
    const api = new FakeKubeApi();
    const first = aCandidate(api, 'a');
    await first.clock.advance(1_000);
    first.stop.abort();
    await first.clock.advance(100);
    await first.done;
    const second = aCandidate(api, 'b');
    await second.clock.advance(3_000);
    expect([first.leadership.isLeader(), second.leadership.isLeader(), second.terms]).toEqual([false, true, [2]]);
  });
});
