import { sleep } from './clock.ts';
import { KubeApiError } from './errors.ts';
import type { KubeClient } from './kube-client.ts';
import type { KubeObject } from './kube-object.ts';
import { LeaderLease, NotLeadingError, type LeaderLeaseOptions } from './leader-lease.ts';
import { FakeClock, FakeKubeApi, settle } from './testing/index.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/ns/leases';

interface LeaseSpec {
  readonly holderIdentity: string;
  readonly leaseTransitions: number;
  readonly renewTime: string;
}

const specOf = (api: FakeKubeApi): LeaseSpec => (api.objects(LEASES)[0] as unknown as { spec: LeaseSpec }).spec;

interface Candidate {
  readonly lease: LeaderLease;
  readonly clock: FakeClock;
  readonly terms: number[];
  readonly stop: AbortController;
  readonly outcome: { now: string };
}

/** Each candidate has a clock of its own, as machines do. */
function aCandidate(api: FakeKubeApi, identity: string, options: Partial<LeaderLeaseOptions> = {}): Candidate {
  const clock = new FakeClock();
  const stop = new AbortController();
  const lease = new LeaderLease({
    client: api,
    namespace: 'ns',
    name: 'l',
    identity,
    clock,
    random: () => 0,
    ...options,
  });
  const terms: number[] = [];
  const outcome = { now: 'running' };
  void lease
    .run({ signal: stop.signal, onStartedLeading: (term) => void terms.push(term) })
    .then((why) => (outcome.now = why));
  return { lease, clock, terms, stop, outcome };
}

const pass = async (byMs: number, ...candidates: readonly Candidate[]): Promise<void> => {
  for (let passed = 0; passed < byMs; passed += 500) for (const { clock } of candidates) await clock.advance(500);
};

const unavailable = (): never => {
  throw new KubeApiError({ status: 503, reason: 'x', message: 'x' });
};

describe('a leader lease', () => {
  it('is taken when nobody holds it, with six digits of time and the first term, and renewed', async () => {
    const api = new FakeKubeApi();
    const a = aCandidate(api, 'a', { annotations: { 'coxswain.dev/reports': 'https://a' } });
    await pass(0, a);
    await settle();
    expect(specOf(api)).toMatchObject({ holderIdentity: 'a', leaseTransitions: 1 });
    expect(specOf(api).renewTime).toMatch(/\.[0-9]{6}Z$/);
    await pass(60_000, a);
    expect([a.lease.isLeader(), a.lease.assertLeading(), a.terms]).toEqual([true, 1, [1]]);
    const b = aCandidate(api, 'b');
    await settle();
    expect(b.lease.currentLeader()).toEqual({
      identity: 'a',
      term: 1,
      annotations: { 'coxswain.dev/reports': 'https://a' },
    });
    expect(() => b.lease.assertLeading()).toThrow(NotLeadingError);
  });

  it('is never held by two at once while the holder is alive, whatever their wall clocks say', async () => {
    const api = new FakeKubeApi();
    const a = aCandidate(api, 'a');
    const b = aCandidate(api, 'b');
    await settle();
    for (const stepMs of [3_600_000, -7_200_000, 300_000]) {
      b.clock.stepWall(stepMs);
      a.clock.stepWall(-stepMs);
      await pass(40_000, a, b);
    }
    expect([a.lease.isLeader(), b.lease.isLeader(), b.terms]).toEqual([true, false, []]);
  });

  it('denies leadership to a process that was stopped, before it can send anything, and for good', async () => {
    const api = new FakeKubeApi();
    const a = aCandidate(api, 'a');
    await settle();
    a.clock.stall(10_001);
    expect(a.lease.isLeader()).toBe(false);
    expect(() => a.lease.assertLeading()).toThrow(NotLeadingError);
    await pass(5_000, a);
    expect([a.lease.isLeader(), a.outcome.now]).toEqual([false, 'lost']);
  });

  it('passes to another with the next term once its holder is silent for the lease duration, never sooner', async () => {
    const api = new FakeKubeApi();
    aCandidate(api, 'a');
    const b = aCandidate(api, 'b');
    await settle();
    await pass(14_500, b);
    expect(b.terms).toEqual([]);
    await pass(4_000, b);
    expect([b.terms, specOf(api).holderIdentity]).toEqual([[2], 'b']);
  });

  it('ends the term at the renew deadline when renewals fail, before anybody else may start', async () => {
    const api = new FakeKubeApi();
    const a = aCandidate(api, 'a');
    await settle();
    await pass(4_000, a);
    api.interfere = unavailable;
    await pass(9_500, a);
    expect(a.outcome.now).toBe('running');
    await pass(1_000, a);
    expect([a.outcome.now, a.lease.isLeader()]).toEqual(['lost', false]);
  });

  it.each([1, 2])('bears %i calls in a row that hang, as on a connection that is half open', async (hanging) => {
    const api = new FakeKubeApi();
    const clock = new FakeClock();
    let left = 0;
    const hang = async (timeoutMs = 0): Promise<void> => {
      if ((left -= 1) < 0) return;
      await sleep(clock, timeoutMs);
      throw new KubeApiError({ status: 0, reason: 'Timeout', message: 'no answer' });
    };
    const client: LeaderLeaseOptions['client'] = {
      get: async <T>(...[path, options]: Parameters<KubeClient['get']>): Promise<T> => {
        await hang(options?.timeoutMs);
        return api.get<T>(path);
      },
      create: (path, body) => api.create(path, body),
      patch: async <T>(...[path, body, options]: Parameters<KubeClient['patch']>): Promise<T> => {
        await hang(options.timeoutMs);
        return api.patch<T>(path, body, options);
      },
    };
    const durations = { leaseDurationMs: 8_000, renewDeadlineMs: 6_000, retryPeriodMs: 1_500 };
    const a = aCandidate(api, 'a', { client, clock, ...durations });
    await settle();
    for (let round = 0; round < 3; round += 1) {
      left = hanging;
      await clock.advance(12_000);
      expect([left < 0, a.outcome.now, a.lease.isLeader()]).toEqual([true, 'running', true]);
    }
    expect([a.terms, specOf(api).leaseTransitions]).toEqual([[1], 1]);
  });

  it('is asked for again sooner and sooner after failures, but not without pause', async () => {
    const api = new FakeKubeApi();
    const a = aCandidate(api, 'a');
    await settle();
    let calls = 0;
    api.interfere = () => {
      calls += 1;
      return unavailable();
    };
    await pass(11_000, a);
    expect(a.outcome.now).toBe('lost');
    // Each failed renewal is a patch and a read.
    expect(calls).toBeGreaterThan(10);
    expect(calls).toBeLessThan(40);
  });

  it.each(['a renewal', 'the acquisition'])(
    'goes on when the answer to %s is lost although it was done',
    async (which) => {
      const api = new FakeKubeApi();
      let lose = which === 'the acquisition' ? 1 : 0;
      const client: LeaderLeaseOptions['client'] = {
        get: (path) => api.get(path),
        create: async <T>(path: string, body: unknown): Promise<T> => {
          const answer = await api.create<T>(path, body);
          if ((lose -= 1) >= 0) unavailable();
          return answer;
        },
        patch: async <T>(...call: Parameters<FakeKubeApi['patch']>): Promise<T> => {
          const answer = await api.patch<T>(...call);
          if ((lose -= 1) >= 0) unavailable();
          return answer;
        },
      };
      const a = aCandidate(api, 'a', { client });
      await settle();
      await pass(4_000, a);
      lose = which === 'a renewal' ? 1_000 : 0;
      await pass(60_000, a);
      expect([a.lease.isLeader(), a.terms]).toEqual([true, [1]]);
    },
  );

  it('ends when somebody else has taken it', async () => {
    const api = new FakeKubeApi();
    const a = aCandidate(api, 'a');
    await settle();
    await api.patch(`${LEASES}/l`, { spec: { holderIdentity: 'usurper', leaseTransitions: 9 } }, { type: 'merge' });
    await pass(2_500, a);
    expect(a.outcome.now).toBe('lost');
  });

  it('keeps going when somebody annotates the lease', async () => {
    const api = new FakeKubeApi();
    const a = aCandidate(api, 'a');
    await settle();
    await api.patch(`${LEASES}/l`, { metadata: { annotations: { note: 'hello' } } }, { type: 'merge' });
    await pass(30_000, a);
    expect(a.lease.isLeader()).toBe(true);
  });

  it('is released on a clean stop, so that the next leads with a higher term within a retry', async () => {
    const api = new FakeKubeApi();
    const a = aCandidate(api, 'a');
    const b = aCandidate(api, 'b');
    await settle();
    a.stop.abort();
    await pass(500, a);
    expect([a.outcome.now, specOf(api).holderIdentity, a.lease.isLeader()]).toEqual(['released', '', false]);
    await pass(2_500, b);
    expect(b.terms).toEqual([2]);
  });

  it('never falls below the terms stamped on objects, even after the lease was deleted', async () => {
    const api = new FakeKubeApi();
    const a = aCandidate(api, 'a', { termFloor: () => 41 });
    await settle();
    expect(a.terms).toEqual([42]);
    const [lease] = api.objects<KubeObject>(LEASES);
    const b = aCandidate(api, 'b');
    await settle();
    await api.delete(`${LEASES}/l`, { uid: lease?.metadata.uid ?? '' });
    await pass(3_000, b);
    expect(b.terms).toEqual([]);
    await pass(3_000, a);
    expect(a.outcome.now).toBe('lost');
    await pass(15_000, b);
    expect(b.terms).toEqual([43]);
  });

  it('refuses durations that would let two lead', () => {
    const options = { client: new FakeKubeApi(), namespace: 'ns', name: 'l', identity: 'a', clock: new FakeClock() };
    expect(
      () => new LeaderLease({ ...options, random: () => 0, leaseDurationMs: 5_000, renewDeadlineMs: 5_000 }),
    ).toThrow('raise');
  });
});
