/** How a page follows a job: through lost connections, refusals and repeated messages, by a clock of its own. */
import { ApiProblem, type StreamedChange } from '@coxswain/api-client';
import type { StepPoint } from '@coxswain/api-types';
import { aJob, aJobEvent, aStepPoint } from '@coxswain/api-types/testing';
import { vi } from 'vitest';
import { type Follower, followJob } from './follow-job.ts';
import { NOTHING_RECEIVED, withChanges } from './live-job.ts';

/** What one connection does in order: sends a change, waits so many milliseconds, fails; it ends after the last, or stays open. */
type Connection = readonly (StreamedChange | number | Error | 'stays open')[];
/** An answer of the curve: its points, or a failure. */
type Answer = readonly StepPoint[] | Error;

const DOWN = new Error('Cannot reach the API.');
const GONE = new ApiProblem(404, 'NOT_FOUND', 'There is no such job.');
const FORBIDDEN = new ApiProblem(403, 'FORBIDDEN', 'You may not read it.');
const AGAIN = 'This page tries again by itself.';

const event = (id: number): StreamedChange => ({ kind: 'event', event: aJobEvent({ id }), lastEventId: String(id) });
const job = (version: number): StreamedChange => ({ kind: 'job', job: aJob({ version }) });
const step = (number: number): StreamedChange => ({ kind: 'step', point: aStepPoint({ step: number }) });
const resync: StreamedChange = { kind: 'resync' };

/** Everything that the page does and receives, each with its second. */
interface Followed {
  /** When a connection was opened, and after which event. */
  readonly opened: (readonly [atS: number, lastEventId: string | undefined])[];
  readonly curveReadAtS: number[];
  readonly curvePoints: unknown[];
  readonly received: (readonly StreamedChange[])[];
  readonly problems: (readonly [part: string, problem: string | undefined])[];
  readonly leave: () => void;
  /** Whether it follows no more. */
  hasEnded: boolean;
}

/** Follows a job whose API does this; connections and answers that are not given stay open. */
function follow(connections: readonly Connection[], answers: readonly Answer[] = [[]]): Followed {
  const beginMs = Date.now();
  const nowS = (): number => (Date.now() - beginMs) / 1_000;
  const abort = new AbortController();
  const followed: Followed = {
    opened: [],
    curveReadAtS: [],
    curvePoints: [],
    received: [],
    problems: [],
    leave: () => abort.abort(),
    hasEnded: false,
  };
  const api: Parameters<typeof followJob>[0] = {
    async *changes(_job, { lastEventId, signal }) {
      const connection = connections[followed.opened.length] ?? ['stays open'];
      followed.opened.push([nowS(), lastEventId]);
      for (const next of connection) {
        if (next instanceof Error) throw next;
        if (typeof next === 'number') await new Promise((resolve) => setTimeout(resolve, next));
        else if (next !== 'stays open') yield next;
        else
          await new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('left'))));
      }
    },
    steps: (_job, query) => {
      const answer = answers[Math.min(followed.curveReadAtS.length, answers.length - 1)] ?? [];
      followed.curveReadAtS.push(nowS());
      followed.curvePoints.push(query?.maxPoints);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ items: [...answer], gaps: [] });
    },
  };
  const receive: Follower['receive'] = (changes) => followed.received.push(changes);
  const setProblem: Follower['setProblem'] = (...problem) => followed.problems.push(problem);
  void followJob(api, { project: 'research', id: 'j' }, { signal: abort.signal, receive, setProblem }).then(
    () => (followed.hasEnded = true),
  );
  return followed;
}

const seconds = async (count: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(1_000 * count);
};
/** What the page knows after all that it received. */
const known = ({ received }: Followed) => received.reduce(withChanges, NOTHING_RECEIVED);
const openedAtS = ({ opened }: Followed): readonly number[] => opened.map(([atS]) => atS);

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe('the stream of a job', () => {
  it.each<[string, readonly Connection[], number, readonly number[]]>([
    ['is opened once while it stays open', [['stays open']], 3_600, [0]],
    [
      'is opened again after pauses that double up to 15 s',
      [[DOWN], [DOWN], [DOWN], [DOWN], [DOWN], [DOWN], [DOWN]],
      59,
      [0, 1, 3, 7, 15, 30, 45],
    ],
    ['is opened again when it ended without a failure', [[job(1)], [job(2)]], 5, [0, 1, 2]],
    [
      'is opened again after a second once it answered',
      [[DOWN], [DOWN], [job(1), DOWN], ['stays open']],
      60,
      [0, 1, 3, 4],
    ],
    ['is not opened faster if it ends at once', [[], [], [], []], 14, [0, 1, 3, 7]],
    ['is opened again if it is refused for now', [[FORBIDDEN], ['stays open']], 60, [0, 1]],
    ['is never opened again if there is no such job', [[GONE]], 3_600, [0]],
    ['is never opened again when the job goes', [[job(1), GONE]], 3_600, [0]],
  ])('%s', async (_sentence, connections, forS, want) => {
    const followed = follow(connections);
    await seconds(forS);
    expect(openedAtS(followed)).toEqual(want);
  });

  it('continues after the last event that came', async () => {
    const followed = follow([[event(7), event(8), DOWN], [DOWN], [event(9), step(1)]]);
    await seconds(6);
    expect(followed.opened.map(([, lastEventId]) => lastEventId)).toEqual([undefined, '8', '8', '9']);
  });

  it('ends when the page is left while it is open', async () => {
    const followed = follow([[job(1), 'stays open']]);
    await seconds(1);
    followed.leave();
    await seconds(60);
    expect(followed).toMatchObject({
      hasEnded: true,
      problems: [
        ['stream', undefined],
        ['curve', undefined],
      ],
    });
    expect(openedAtS(followed)).toEqual([0]);
  });

  it('ends at once when the page is left between two tries', async () => {
    const followed = follow([[DOWN]]);
    await seconds(0.5);
    followed.leave();
    await vi.advanceTimersByTimeAsync(0);
    expect(followed.hasEnded).toBe(true);
    await seconds(60);
    expect(openedAtS(followed)).toEqual([0]);
  });
});

describe('messages of the stream', () => {
  it('are handed on together, at most four times a second', async () => {
    const followed = follow([[event(1), event(2), 100, job(1), 100, event(3), 100, event(4), 'stays open']], [DOWN]);
    await seconds(0.249);
    expect(followed.received).toEqual([]);
    await seconds(0.001);
    expect(followed.received).toEqual([[event(1), event(2), job(1), event(3)]]);
    await seconds(0.299);
    expect(followed.received).toHaveLength(1);
    await seconds(0.001);
    expect(followed.received.slice(1)).toEqual([[event(4)]]);
  });

  it('are handed on at once when the stream is lost', async () => {
    const followed = follow([[event(1), DOWN]], [DOWN]);
    await vi.advanceTimersByTimeAsync(0);
    expect(followed.received).toEqual([[event(1)]]);
  });

  it('that were sent again after a lost connection count once', async () => {
    const followed = follow([
      [event(1), event(2), job(2), DOWN],
      [job(2), event(2), event(3), 'stays open'],
    ]);
    await seconds(5);
    expect(known(followed).events.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(known(followed).job?.version).toBe(2);
  });

  it('that come out of order make an older job of no newer one', async () => {
    const followed = follow([[event(3), job(5), event(1), job(4), 'stays open']]);
    await seconds(5);
    expect(known(followed).events.map(({ id }) => id)).toEqual([1, 3]);
    expect(known(followed).job?.version).toBe(5);
  });
});

describe('the curve of a job', () => {
  const steps = (...numbers: readonly number[]): readonly StepPoint[] =>
    numbers.map((one) => aStepPoint({ step: one }));

  it.each<[string, readonly Connection[], readonly Answer[], readonly number[]]>([
    ['is not read before the stream answers', [[DOWN], [], ['stays open']], [[]], []],
    ['is read when the first message came', [[2_000, job(1), job(2), 'stays open']], [[]], [2]],
    [
      'is not read again when the stream is opened again',
      [
        [job(1), DOWN],
        [job(2), 'stays open'],
      ],
      [[]],
      [0],
    ],
    ['is read again when the stream left something out', [[job(1), 5_000, resync, 'stays open']], [[], []], [0, 5]],
    [
      'is read until it is there, after pauses that double up to 15 s',
      [[job(1), 'stays open']],
      [DOWN, DOWN, DOWN, DOWN, DOWN, DOWN, []],
      [0, 1, 3, 7, 15, 30, 45],
    ],
    ['is not read again if there is no such job', [[job(1), 'stays open']], [GONE], [0]],
  ])('%s', async (_sentence, connections, answers, want) => {
    const followed = follow(connections, answers);
    await seconds(300);
    expect(followed.curveReadAtS).toEqual(want);
  });

  it('is asked for in as many points as a wide screen has columns', async () => {
    const followed = follow([[job(1)]]);
    await seconds(0);
    expect(followed.curvePoints).toEqual([2_000]);
  });

  it('has steps from before the stream, and those that came by it meanwhile', async () => {
    const followed = follow([[job(1), step(3), step(4), 'stays open']], [steps(1, 2, 3)]);
    await seconds(1);
    expect([...known(followed).curve.keys()]).toEqual([1, 2, 3, 4]);
  });

  it('has the steps that the stream left out', async () => {
    const followed = follow([[step(1), 1_000, step(5), resync, 'stays open']], [steps(1), steps(1, 2, 3, 4, 5)]);
    await seconds(5);
    expect([...known(followed).curve.keys()]).toEqual([1, 2, 3, 4, 5]);
  });

  it('is not read any more when the page was left', async () => {
    const followed = follow([[job(1), 'stays open']], [DOWN]);
    await seconds(0.5);
    followed.leave();
    await seconds(60);
    expect(followed.curveReadAtS).toEqual([0]);
  });
});

describe('a problem of the page', () => {
  const problems = async (connections: readonly Connection[], answers?: readonly Answer[]) => {
    const followed = follow(connections, answers);
    await seconds(2.5);
    return followed.problems;
  };

  it.each<[string, readonly Connection[], readonly Answer[] | undefined, Followed['problems']]>([
    [
      'is none while all is well',
      [[job(1), 'stays open']],
      undefined,
      [
        ['stream', undefined],
        ['curve', undefined],
      ],
    ],
    ['says that the page tries again', [[DOWN]], undefined, [['stream', `${DOWN.message} ${AGAIN}`]]],
    ['says so of a refusal too', [[FORBIDDEN]], undefined, [['stream', `You may not read it. ${AGAIN}`]]],
    ['does not say so if there is no such job', [[GONE]], undefined, [['stream', 'There is no such job.']]],
    [
      'lasts until something came',
      [[DOWN], [500, job(1), 'stays open']],
      undefined,
      [
        ['stream', `${DOWN.message} ${AGAIN}`],
        ['stream', undefined],
        ['curve', undefined],
      ],
    ],
    [
      'of the curve is told from one of the stream, and lasts until it was read',
      [[job(1), 'stays open']],
      [DOWN, []],
      [
        ['stream', undefined],
        ['curve', `The curves are not complete. ${DOWN.message} ${AGAIN}`],
        ['curve', undefined],
      ],
    ],
    [
      'of the curve of a job that is gone is final',
      [[job(1), 'stays open']],
      [GONE],
      [
        ['stream', undefined],
        ['curve', 'The curves are not complete. There is no such job.'],
      ],
    ],
  ])('%s', async (_sentence, connections, answers, want) => {
    expect(await problems(connections, answers)).toEqual(want);
  });
});
