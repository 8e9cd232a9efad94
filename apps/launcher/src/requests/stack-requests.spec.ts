import { LauncherMessage, type ThreadStack } from '@coxswain/api-types';
import { StackRequests } from './stack-requests.ts';

const ROOM = 196_608;
const main = (...frames: string[]): ThreadStack => ({ thread: 'MainThread', isMain: true, frames });

/** A pod of four ranks, of which `hookless` have no hook and `ended` have ended; process 100 + rank is in that state. */
function aPod(
  parts: {
    readonly hookless?: readonly number[];
    readonly ended?: readonly number[];
    /** Their hooks have not said that they answer. */
    readonly older?: readonly number[];
    readonly states?: Readonly<Record<number, string | undefined>>;
    readonly withinMs?: number;
  } = {},
): {
  readonly asked: StackRequests;
  readonly requests: number[];
  readonly answer: (rank: number, ...threads: ThreadStack[]) => void;
} {
  const { hookless = [], ended = [], older = [], states = {}, withinMs = 60_000 } = parts;
  const requests: number[] = [];
  const asked = new StackRequests({
    alive: () => [4, 5, 6, 7].map((rank) => ({ rank, alive: !ended.includes(rank) })),
    ask: (rank, request) => {
      if (hookless.includes(rank)) return undefined;
      requests.push(request);
      return { pid: 100 + rank, saysItAnswers: !older.includes(rank) };
    },
    stateOf: (pid) => (pid in states ? states[pid] : 'S'),
    withinMs,
  });
  const answer = (rank: number, ...threads: ThreadStack[]): void =>
    asked.receive(rank, { kind: 'stacks', request: requests.at(-1) ?? 0, threads });
  return { asked, requests, answer };
}

describe('ranks that are asked', () => {
  it('answer together, each stack once', async () => {
    const { asked, answer } = aPod();
    const taken = asked.answer({ request: 3, maxBytes: ROOM });
    for (const rank of [4, 5, 7])
      answer(rank, main('all_reduce (c10d.py:9)'), { ...main('get (queue.py:1)'), isMain: false });
    answer(6, main('next_batch (data.py:3)'));
    expect(await taken).toEqual({
      request: 3,
      groups: [
        { ...main('all_reduce (c10d.py:9)'), ranks: '4-5,7' },
        { ...main('next_batch (data.py:3)'), ranks: '6' },
        { ...main('get (queue.py:1)'), isMain: false, ranks: '4-5,7' },
      ],
      silent: [],
      leftOut: '',
    });
  });

  it.each([
    ['is stopped', 'T', 'stopped'],
    ['waits for a device', 'D', 'uninterruptible'],
    ['computes without letting go', 'R', 'noAnswer'],
    ['has ended meanwhile', undefined, 'notRunning'],
  ])('are not waited for by more than they may take: one that %s', async (_sentence, state, why) => {
    const { asked, answer } = aPod({ states: { 106: state }, withinMs: 1 });
    const taken = asked.answer({ request: 1, maxBytes: ROOM });
    for (const rank of [4, 5, 7]) answer(rank, main('a'));
    expect((await taken).silent).toEqual([{ why, ranks: '6' }]);
  });

  it.each([
    ['is not called stuck', 'S', 'olderHook'],
    ['is stopped all the same', 'T', 'stopped'],
  ])('whose hook has not said that it answers: one that is silent %s', async (_sentence, state, why) => {
    const { asked, answer } = aPod({ older: [6, 7], states: { 106: state }, withinMs: 1 });
    const taken = asked.answer({ request: 1, maxBytes: ROOM });
    for (const rank of [4, 5, 7]) answer(rank, main('a'));
    expect((await taken).silent).toEqual([{ why, ranks: '6' }]);
  });

  it('are not waited for where none can answer', async () => {
    const { asked } = aPod({ hookless: [4, 5, 6], ended: [7] });
    const { silent } = await asked.answer({ request: 1, maxBytes: ROOM });
    expect(silent).toEqual([
      { why: 'noHook', ranks: '4-6' },
      { why: 'notRunning', ranks: '7' },
    ]);
    expect((await asked.answer({ request: 2, maxBytes: ROOM })).request).toBe(2);
  });

  it('are asked once for two that ask at once, and again for who asks later', async () => {
    const { asked, requests, answer } = aPod({ hookless: [5, 6, 7] });
    const both = [asked.answer({ request: 1, maxBytes: ROOM }), asked.answer({ request: 9, maxBytes: ROOM })];
    answer(4, main('a'));
    expect((await Promise.all(both)).map(({ request, groups }) => [request, groups.length])).toEqual([
      [1, 1],
      [9, 1],
    ]);
    const later = asked.answer({ request: 10, maxBytes: ROOM });
    answer(4, main('b'));
    expect((await later).groups).toEqual([{ ...main('b'), ranks: '4' }]);
    expect(requests).toEqual([1, 2]);
  });

  it('count once, for the question under way, and by the rank whose connection it is', async () => {
    const { asked, answer } = aPod({ hookless: [6, 7] });
    asked.receive(4, { kind: 'stacks', request: 1, threads: [main('early')] });
    const taken = asked.answer({ request: 1, maxBytes: ROOM });
    answer(4, main('first'));
    answer(4, main('second'));
    asked.receive(5, { kind: 'stacks', request: 77, threads: [main('invented')] });
    answer(5, main('first'));
    expect((await taken).groups).toEqual([{ ...main('first'), ranks: '4-5' }]);
  });

  it.each([8_192, 4_096])('whose names take many bytes are told in a message of at most %i', async (maxBytes) => {
    const { asked, answer } = aPod();
    const taken = asked.answer({ request: 1, maxBytes });
    for (const rank of [4, 5, 6, 7])
      answer(rank, main(...Array.from({ length: 12 }, (_, at) => `\ufffd${rank}${'ﬀ'.repeat(250)}${at}`)));
    const stacks = await taken;
    const envelope = {
      podUid: 'u'.repeat(36),
      epoch: 1,
      incarnation: 1,
      state: 'running',
      sequence: 12,
      rendezvous: null,
    };
    const message = { ...envelope, kind: 'stacks', stacks };
    expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThanOrEqual(maxBytes);
    expect(LauncherMessage.safeParse(message).success).toBe(true);
    expect(stacks.leftOut).not.toBe('');
  });
});
