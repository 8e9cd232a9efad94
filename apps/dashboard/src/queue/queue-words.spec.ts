import type { PastStarts, Queue, QueueUse } from '@coxswain/api-types';
import { dayBar, dayHours } from './day-bar.ts';
import {
  closedWords,
  errorWords,
  intervalWords,
  pastStartsSentence,
  queueSentence,
  restsOnWords,
  untilWords,
  useWords,
  windowWords,
} from './queue-words.ts';

const AS_OF = '2026-01-10T00:00:00Z';
const at = (hours: number): string => new Date(Date.parse(AS_OF) + hours * 3_600_000).toISOString();
const day = { from: AS_OF, until: at(24) };

describe('the bar of an interval', () => {
  it.each<[string, Parameters<typeof dayBar>[0], ReturnType<typeof dayBar>]>([
    [
      'lies between its ends',
      { at: at(9), earliest: at(6), latest: at(12) },
      { left: 25, width: 25, mark: 37.5, isOpen: false },
    ],
    [
      'goes on if no latest time is known',
      { at: at(12), earliest: at(12), latest: null },
      { left: 50, width: 50, mark: 50, isOpen: true },
    ],
    [
      'goes on if it ends after the day',
      { at: at(12), earliest: at(0), latest: at(48) },
      { left: 0, width: 100, mark: 50, isOpen: true },
    ],
    [
      'can be seen however short it is',
      { at: at(24), earliest: at(24), latest: at(24) },
      { left: 99.4, width: 0.6, mark: 100, isOpen: false },
    ],
  ])('%s', (_sentence, time, want) => {
    expect(
      Object.values(dayBar(time, day)).map((value) =>
        typeof value === 'number' ? Math.round(value * 10) / 10 : value,
      ),
    ).toEqual(Object.values(want));
  });

  it('has a line each six hours', () => {
    expect(dayHours(day)).toEqual([0, 6, 12, 18].map((hours) => ({ left: (hours * 100) / 24, at: at(hours) })));
  });
});

const queue = { waitingJobs: 2, waitingGpus: 72, freeGpus: 1, totalGpus: 128, oldestWaitSeconds: 10_800 } as Queue;
const use: QueueUse = { project: 'a', heldGpus: 96, waitingJobs: 0, waitingGpus: 0, quotaGpus: 1_024 };
const window = { kind: 'Maintenance', name: 'firmware', project: null, from: AS_OF, until: AS_OF, nodes: 1 } as const;
const starts: PastStarts = {
  ...{ count: 3, medianErrorSeconds: 60, p90ErrorSeconds: 3_600, medianErrorPct: 2, p90ErrorPct: 20.4, items: [] },
};

it.each<[string, string, string]>([
  [
    'the queue',
    queueSentence(queue),
    '2 jobs wait for 72 GPUs; 1 of 128 GPUs is free. The longest wait so far is 3 h 0 min.',
  ],
  [
    'an empty queue',
    queueSentence({ ...queue, waitingJobs: 0, freeGpus: 0 }),
    'No job waits for GPUs. 0 of 128 GPUs are free.',
  ],
  [
    'one job that has no time',
    queueSentence({ ...queue, waitingJobs: 1, oldestWaitSeconds: null }),
    '1 job waits for 72 GPUs; 1 of 128 GPUs is free.',
  ],
  ['a start now', untilWords(at(0.01), AS_OF), 'now'],
  ['a start later', untilWords(at(2), AS_OF), 'in 2 h 0 min'],
  ['an interval', intervalWords({ earliest: at(1), latest: at(3) }, AS_OF), 'between 1 h 0 min and 3 h 0 min'],
  [
    'an interval without an end',
    intervalWords({ earliest: at(1), latest: null }, AS_OF),
    'not before 1 h 0 min, no latest time is known',
  ],
  ['an exact time', intervalWords({ earliest: at(1), latest: at(1) }, AS_OF), ''],
  ['what a time rests on', restsOnWords({ restsOn: 'Measured' }), 'from measured steps'],
  ['what a start now rests on', restsOnWords({ restsOn: null }), ''],
  ['use against a quota', useWords(use), '96 of 1,024'],
  ['maintenance', windowWords(window), 'firmware: maintenance'],
  [
    'a window of the project',
    windowWords({ ...window, kind: 'Project', project: 'a' }),
    'firmware: kept for project a',
  ],
  ['a window of another project', windowWords({ ...window, kind: 'Project', name: null }), 'kept for a project'],
  ['a window to come', closedWords({ from: at(2), until: at(5) }, AS_OF), 'for 3 h 0 min'],
  ['a window that has begun', closedWords({ from: at(-2), until: at(5) }, AS_OF), 'for 5 h 0 min'],
  ['use without a quota', useWords({ ...use, quotaGpus: null }), '96'],
  [
    'past starts',
    pastStartsSentence({ ...starts, count: 30 }),
    '30 starts in the last 30 days. Half were within 1 min 0 s of the expected time, 9 of 10 within 1 h 0 min (20 % of the expected wait).',
  ],
  [
    'few past starts',
    pastStartsSentence(starts),
    '3 starts in the last 30 days. Half were within 1 min 0 s of the expected time, all within 1 h 0 min (20 % of the expected wait).',
  ],
  [
    'one past start',
    pastStartsSentence({ ...starts, count: 1 }),
    '1 start in the last 30 days, within 1 h 0 min of the expected time (20 % of the expected wait).',
  ],
  [
    'no past starts',
    pastStartsSentence({ ...starts, medianErrorSeconds: null }),
    'No job for which nodes were held has started in the last 30 days.',
  ],
  ['a late start', errorWords(600), '10 min 0 s later'],
  ['an early start', errorWords(-600), '10 min 0 s earlier'],
  ['a start in time', errorWords(-59), 'on time'],
])('words of %s', (_what, words, want) => {
  expect(words).toBe(want);
});
