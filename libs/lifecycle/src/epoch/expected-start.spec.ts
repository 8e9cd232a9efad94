import type { ExpectedStart } from '@coxswain/api-types';
import type { NodePromise } from '@coxswain/scheduling';
import { describeExpectedStart, expectedStartOf } from './expected-start.ts';
import type { JobRecord } from '../record/job-record.ts';
import type { NextEpoch } from './next-epoch.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const after = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);
const iso = (minutes: number): string => after(minutes).toISOString();

/** Two nodes that are held for a job from that minute on. */
function aPromise(minutes: number, parts: Partial<NodePromise> = {}): NodePromise {
  const job = { uid: 'u', name: 'big', namespace: 'x' };
  const gpus = new Map([
    ['a', 8],
    ['b', 8],
  ]);
  const [start, earliest] = [after(minutes), after(minutes - 5)];
  return {
    ...{ job, priority: 0, pool: '', request: '', gpus, start, earliest, latest: after(minutes + 5) },
    ...{ restsOn: 'Measured', awaits: new Map(), beyond: new Map(), promisedAt: NOW, firstStart: start },
    ...parts,
  };
}

const RECORDED: ExpectedStart = {
  at: iso(100),
  earliest: iso(95),
  latest: iso(105),
  restsOn: 'Measured',
  nodes: 2,
  promisedAt: iso(-60),
  firstPromised: iso(90),
};

describe('the expected start in status', () => {
  const of = (
    kind: NextEpoch['kind'],
    promise: NodePromise | 'deriving' | undefined,
    recorded: ExpectedStart | undefined = RECORDED,
  ): ExpectedStart | undefined => {
    const record = { expectedStart: recorded } as JobRecord;
    const facts = { observed: { promise: () => promise } } as Parameters<typeof expectedStartOf>[0]['facts'];
    return expectedStartOf({ record, facts, next: { kind }, now: NOW });
  };
  const moved = { moved: 'Node a, which was held for this job, cannot be used any more.' };
  it.each<[string, unknown, unknown]>([
    ['is that of the nodes that are held', of('waiting', aPromise(100)), RECORDED],
    ['stays while it moves by less than 5 %', of('waiting', aPromise(104)), RECORDED],
    [
      'moves earlier, and keeps when nodes were first held',
      of('waiting', aPromise(50)),
      { ...RECORDED, at: iso(50), earliest: iso(45), latest: iso(55) },
    ],
    [
      'moves later with the reason',
      of('waiting', aPromise(150, moved)),
      { ...RECORDED, at: iso(150), earliest: iso(145), latest: iso(155), ...moved, movedAt: iso(0) },
    ],
    ['stays while a new leader does not know it yet', of('waiting', 'deriving'), RECORDED],
    ['stays while the job is being placed', of('placing', undefined), RECORDED],
    ['ends when no nodes are held any more', of('waiting', undefined), undefined],
    ['ends when the job waits for something else', of('podsRefused', aPromise(100)), undefined],
    ['ends when the job has started', of('notNeeded', aPromise(100)), undefined],
  ])('%s', (_sentence, got, want) => {
    expect(got).toEqual(want);
  });
});

it.each<[string, ExpectedStart, string]>([
  [
    'the message of a job that is first in line has its nodes and start',
    RECORDED,
    'The job is first in line: 2 nodes are held for it, and it is expected to start at 2026-01-01T01:40Z, by the measured steps of the jobs that use them.',
  ],
  [
    'the message says that ends are not known, and why the start moved',
    { ...RECORDED, nodes: 1, restsOn: 'Assumed', moved: 'Job "a" runs longer than was predicted.' },
    'The job is first in line: 1 node is held for it, and it is expected to start at 2026-01-01T01:40Z, if jobs whose end is not known run as long again as they have run. The start moved: Job "a" runs longer than was predicted.',
  ],
])('%s', (_sentence, expected, want) => {
  expect(describeExpectedStart(expected)).toBe(want);
});
