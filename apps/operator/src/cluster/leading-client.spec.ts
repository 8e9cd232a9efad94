import {
  createKubeClientOver,
  NotLeadingError,
  passGuard,
  type KubeClient,
  type KubeTransport,
  type Replacement,
} from '@coxswain/kube';
import { anObject, FakeClock, settle } from '@coxswain/kube/testing';
import { leadingClient } from './leading-client.ts';

type Sent = Parameters<KubeTransport['send']>[0];

/** A leading client over a transport whose turn comes late: `beforeSending` runs after the client's own look at the lease. */
function aClient(answer: (request: Sent) => Promise<string> = () => Promise.resolve('{}')) {
  const world = { leads: true, leftMs: 10_000, beforeSending: (): void => undefined };
  const clock = new FakeClock();
  const over = new AbortController();
  const sent: string[] = [];
  const transport: KubeTransport = {
    send: async (request) => {
      world.beforeSending();
      passGuard(request);
      sent.push(request.method);
      const text = await answer(request);
      const body = (async function* () {
        yield Buffer.from(text);
      })();
      return { status: 200, headers: {}, body };
    },
    refreshCredentials: () => undefined,
    close: async () => undefined,
  };
  const client = createKubeClientOver(transport, { userAgent: 'test', clock, maxInFlight: 2 });
  const assertLeading = (): void => {
    if (!world.leads) throw new NotLeadingError('another replica leads');
  };
  const term = { assertLeading, leftMs: () => world.leftMs, over: over.signal };
  return { client: leadingClient(client, term), sent, world, clock, over };
}

const writes: readonly [string, (client: KubeClient) => Promise<unknown>][] = [
  ['create', (client) => client.create('/x', {})],
  ['apply', (client) => client.apply('/x', {}, { fieldManager: 'm' })],
  ['patch', (client) => client.patch('/x', {}, { type: 'merge' })],
  ['replace', (client) => client.replace('/x', anObject('x', { version: 7 }) as Replacement)],
  ['delete', (client) => client.delete('/x', { uid: 'u' })],
];
const calls: typeof writes = [
  ...writes,
  ['get', (client) => client.get('/x')],
  ['get with a signal of its own', (client) => client.get('/x', { signal: new AbortController().signal })],
  ['list', (client) => client.list('/x')],
];

const hangs = ({ signal }: Sent): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));

const outcomeOf = (call: Promise<unknown>): { now: unknown } => {
  const outcome: { now: unknown } = { now: 'under way' };
  call.then(
    () => (outcome.now = 'done'),
    (error: unknown) => (outcome.now = error),
  );
  return outcome;
};

describe('a client that writes only while it leads', () => {
  it.each(writes)(
    '%s: passes while it leads, and is refused without a byte sent when it does not',
    async (_, write) => {
      const { client, sent, world } = aClient();
      await write(client);
      world.leads = false;
      await expect(write(client)).rejects.toBeInstanceOf(NotLeadingError);
      expect(sent).toHaveLength(1);
    },
  );

  it.each(writes)('%s: is refused at the last moment when the lease went while it waited', async (_, write) => {
    const { client, sent, world } = aClient();
    world.beforeSending = () => {
      world.leads = false;
    };
    await expect(write(client)).rejects.toBeInstanceOf(NotLeadingError);
    expect(sent).toEqual([]);
  });
});

describe('a client whose calls end with the term', () => {
  it.each(calls)('%s: has no longer than is left of the term when its turn comes', async (_, call) => {
    const { client, world, clock } = aClient(hangs);
    const before = [outcomeOf(client.get('/slow')), outcomeOf(client.get('/slow'))];
    const outcome = outcomeOf(call(client));
    await settle();
    // Both places are taken for as long as was left of the term; then only 3 s of it are left.
    world.leftMs = 3_000;
    await clock.advance(10_000);
    expect([...before.map(({ now }) => now), outcome.now]).toMatchObject([
      { reason: 'Timeout' },
      { reason: 'Timeout' },
      'under way',
    ]);
    await clock.advance(3_000);
    expect(outcome.now).toMatchObject({ reason: 'Timeout' });
  });

  it.each(calls)('%s: is given up at the end of the term, under way or waiting for its turn', async (_, call) => {
    const { client, over, sent, clock } = aClient(hangs);
    const outcomes = [1, 2, 3].map(() => outcomeOf(call(client)));
    await settle();
    expect(sent).toHaveLength(2);
    over.abort(new NotLeadingError('the term is over'));
    await settle();
    expect(outcomes.map(({ now }) => now instanceof NotLeadingError)).toEqual([true, true, true]);
    expect([sent.length, clock.pending]).toEqual([2, 0]);
  });

  it.each(calls)('%s: is not begun after the term', async (_, call) => {
    const { client, over, sent } = aClient();
    over.abort(new NotLeadingError('the term is over'));
    await expect(call(client)).rejects.toBeInstanceOf(NotLeadingError);
    expect(sent).toEqual([]);
  });
});
