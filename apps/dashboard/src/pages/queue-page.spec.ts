/** What a person reads on the page of the queue: while it is read, when it failed, when no job waits, and when some do. */
import type { Queue, QueueEvent, QueueJob } from '@coxswain/api-types';
import { createElement } from 'react';
import { attributesOf, markupOf, textOf } from '../components/testing/rendered.ts';
import { asSignedIn } from '../components/testing/signed-in.ts';
import { QueuePage } from './queue-page.tsx';

const AS_OF = '2026-01-10T00:00:00.000Z';
const job = { id: '00000000-0000-4000-8000-000000000001', name: 'large', namespace: 'vision', project: 'research' };
const start = {
  at: '2026-01-10T02:00:00.000Z',
  earliest: '2026-01-10T01:00:00.000Z',
  latest: '2026-01-10T03:00:00.000Z',
  restsOn: 'Predicted',
  nodesHeld: true,
} as const;
const mine: QueueJob = {
  ...{ position: 1, job, priority: 100, gpus: 1_024, waitingSince: '2026-01-09T21:00:00.000Z', start },
  constraint: { kind: 'Gpus', gpuType: null, needed: 1_024, free: 8, sentence: 'Needs 1,024 GPUs; 8 are free.' },
};
const event: QueueEvent = { kind: 'End', job: null, gpus: 512, ...start, nodesHeld: false };
const starts = {
  ...{ count: 0, medianErrorSeconds: null, p90ErrorSeconds: null, medianErrorPct: null, p90ErrorPct: null, items: [] },
};
const WINDOW = { kind: 'Maintenance', name: 'firmware', project: null, nodes: 3 } as const;
const USE = { project: 'research', heldGpus: 96, waitingJobs: 1, waitingGpus: 1_024, quotaGpus: 128 };
const queue = (changes: Partial<Queue> = {}): Queue => ({
  ...{ asOf: AS_OF, totalGpus: 2_048, freeGpus: 8, waitingJobs: 2, waitingGpus: 1_032, oldestWaitSeconds: 10_800 },
  ...{ problem: null, items: [mine, { ...mine, position: 2, job: null, start: null }], hasMore: false },
  ...{ timelineUntil: '2026-01-11T00:00:00.000Z', timeline: [event], hasMoreEvents: false, windows: [], starts },
  use: [USE],
  ...changes,
});
const page = (answer?: unknown) =>
  asSignedIn(createElement(QueuePage), { answers: answer === undefined ? [] : [[['queue', 'research'], answer]] });

it.each<[string, unknown, string]>([
  ['is being read', undefined, 'Reading the queue…'],
  ['failed to be read', new Error('The API does not answer.'), 'The API does not answer.'],
  [
    'has no job',
    queue({ waitingJobs: 0, items: [], timeline: [] }),
    'No job waits for GPUs. 8 of 2,048 GPUs are free.',
  ],
  ['has no event', queue({ timeline: [] }), 'No job is expected to end or to start in the next 24 hours.'],
  ['has no use', queue({ use: [] }), 'No project holds GPUs or waits for them.'],
  ['says why no start is predicted', queue({ problem: 'No nodes.' }), 'No start is predicted: No nodes.'],
  ['has the order', queue(), '1 large research 100 1,024 GPUs 3 h 0 min 1. in 2 h 0 min nodes are held'],
  [
    'has the interval of a start, and what it rests on',
    queue(),
    'between 1 h 0 min and 3 h 0 min, from predicted steps',
  ],
  ['does not name jobs of other projects', queue(), '2 job of another project'],
  ['has the next day', queue(), 'in 2 h 0 min frees 512 GPUs job of another project'],
  [
    'has a start on held nodes',
    queue({ timeline: [{ ...event, kind: 'Start', nodesHeld: true }] }),
    'starts on held nodes, 512 GPUs',
  ],
  [
    'has windows',
    queue({
      windows: [{ kind: 'Project', name: null, project: null, from: start.at, until: start.latest, nodes: 3 }],
    }),
    'kept for a project 3 nodes in 2 h 0 min for 1 h 0 min',
  ],
  [
    'has a window in the next day',
    queue({ timeline: [], windows: [{ ...WINDOW, from: start.at, until: start.latest }] }),
    'in 2 h 0 min closes 3 nodes firmware: maintenance for 1 h 0 min',
  ],
  [
    'has no window of a later day in the next day',
    queue({
      timeline: [],
      windows: [{ ...WINDOW, from: '2026-01-12T00:00:00.000Z', until: '2026-01-13T00:00:00.000Z' }],
    }),
    'No job is expected to end or to start in the next 24 hours.',
  ],
  ['has use against quota', queue(), 'research 96 of 128'],
  ['has use without a quota', queue({ use: [{ ...USE, quotaGpus: null }] }), 'research 96 no quota'],
  ['says that more jobs wait', queue({ hasMore: true }), '2 jobs are shown; coxswain queue --limit 2000 lists more.'],
  [
    'has fewer events than there are',
    queue({ timeline: Array.from({ length: 13 }, () => event) }),
    'Show all 13 events',
  ],
  [
    'has past starts',
    queue({
      starts: {
        ...{ ...starts, count: 1, medianErrorSeconds: 600, p90ErrorSeconds: 600, p90ErrorPct: 10 },
        items: [{ job, expectedSince: AS_OF, expected: AS_OF, actual: AS_OF, errorSeconds: 600, errorPct: 10 }],
      },
    }),
    '10 min 0 s later',
  ],
])('the queue %s', (_sentence, answer, words) => {
  expect(textOf(page(answer))).toContain(words);
});

it('links to jobs that the person may see', () => {
  expect(attributesOf(page(queue()), 'href')).toEqual([`/projects/research/jobs/${job.id}`]);
});

it('puts windows among the events, the first to come first, and where they are in the day', () => {
  const windows = [{ ...WINDOW, from: '2026-01-09T20:00:00.000Z', until: '2026-01-10T06:00:00.000Z' }];
  const shown = page(queue({ windows }));
  expect(textOf(shown)).toMatch(/now closes 3 nodes .* in 2 h 0 min frees 512 GPUs/);
  expect(markupOf(shown)).toContain('left:0%;width:25%');
});

it('puts intervals where they are in the day', () => {
  expect(markupOf(page(queue()))).toContain('left:4.166666666666667%;width:8.333333333333332%');
});
