import { InformerGroup, type GroupMember } from './informer-group.ts';
import { RefreshRequests } from './refresh-requests.ts';
import { FakeClock, settle } from './testing/index.ts';

function aMember(collectionPath: string): GroupMember & {
  synced: boolean;
  outageMs: number;
  runs: number;
  denied: boolean;
  readonly refreshes: RefreshRequests;
} {
  return {
    collectionPath,
    synced: false,
    denied: false,
    outageMs: 0,
    runs: 0,
    refreshes: new RefreshRequests(),
    async run(signal) {
      this.runs += 1;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      this.runs -= 1;
    },
    hasSynced() {
      return this.synced;
    },
    isDenied() {
      return this.denied;
    },
    health() {
      return { synced: this.synced, lastEventAgeMs: 0, outageMs: this.outageMs };
    },
    refresh(signal) {
      return this.refreshes.ask(signal);
    },
  };
}

describe('a group of reflectors', () => {
  it('runs all of them until it is told to stop', async () => {
    const members = [aMember('/pods'), aMember('/nodes')];
    const group = new InformerGroup(members, new FakeClock());
    const stop = new AbortController();
    const run = group.run(stop.signal);
    expect(members.map(({ runs }) => runs)).toEqual([1, 1]);
    stop.abort();
    await run;
    expect(members.map(({ runs }) => runs)).toEqual([0, 0]);
  });

  it('has synced when the last of them has, and says what it waits for until then', () => {
    const [pods, nodes] = [aMember('/pods'), aMember('/nodes')];
    const group = new InformerGroup([pods, nodes], new FakeClock());
    expect([group.hasSynced(), group.unsynced()]).toEqual([false, ['/pods', '/nodes']]);
    pods.synced = true;
    expect([group.hasSynced(), group.unsynced()]).toEqual([false, ['/nodes']]);
    nodes.synced = true;
    expect([group.hasSynced(), group.unsynced()]).toEqual([true, []]);
  });

  it.each([
    ['is waited for as long as it may be read', { denied: false, synced: false }, ['/classes']],
    ['is not waited for if this account may not read it', { denied: true, synced: false }, []],
    ['was listed, so nothing is waited for', { denied: false, synced: true }, []],
  ])('an optional one %s', (_sentence, state, want) => {
    const [pods, classes] = [aMember('/pods'), Object.assign(aMember('/classes'), state)];
    pods.synced = true;
    const group = new InformerGroup([pods], new FakeClock(), [classes]);
    expect([group.hasSynced(), group.unsynced()]).toEqual([want.length === 0, want]);
  });

  it('runs an optional one too; its outage and its refresh concern no other one', async () => {
    const [pods, classes] = [aMember('/pods'), aMember('/classes')];
    classes.outageMs = 60_000;
    const group = new InformerGroup([pods], new FakeClock(), [classes]);
    const stop = new AbortController();
    void group.run(stop.signal);
    expect([pods.runs, classes.runs, group.longestOutageMs()]).toEqual([1, 1, 0]);
    const refreshed = group.refresh(stop.signal);
    pods.refreshes.answer(1);
    expect(await refreshed).toBe(true);
    stop.abort();
  });

  it('is waited for', async () => {
    const clock = new FakeClock();
    const pods = aMember('/pods');
    let answer: boolean | undefined;
    void new InformerGroup([pods], clock).waitForSync(new AbortController().signal).then((synced) => (answer = synced));
    await clock.advance(1_000);
    expect(answer).toBeUndefined();
    pods.synced = true;
    await clock.advance(20);
    expect(answer).toBe(true);
  });

  it('is not waited for beyond the end', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const waiting = new InformerGroup([aMember('/pods')], clock).waitForSync(stop.signal);
    await settle();
    stop.abort();
    expect(await waiting).toBe(false);
  });

  it('has the longest outage of its members', () => {
    const [pods, nodes] = [aMember('/pods'), aMember('/nodes')];
    const group = new InformerGroup([pods, nodes], new FakeClock());
    expect(group.longestOutageMs()).toBe(0);
    [pods.outageMs, nodes.outageMs] = [300, 7_000];
    expect(group.longestOutageMs()).toBe(7_000);
  });

  it.each([
    ['is refreshed when the last list that began after the question is taken over', [1, 1], true],
    ['is not refreshed while one of them is not, whatever the others say', [1, 0], undefined],
  ] as const)('%s', async (_, answered, want) => {
    const members = [aMember('/pods'), aMember('/nodes')];
    const outcome: { now?: boolean } = {};
    const stop = new AbortController();
    void new InformerGroup(members, new FakeClock()).refresh(stop.signal).then((now) => (outcome.now = now));
    members.forEach(({ refreshes }, index) => refreshes.answer(answered[index] ?? 0));
    await settle();
    expect(outcome.now).toBe(want);
    stop.abort();
    await settle();
    expect(outcome.now).toBe(want === true);
  });
});
