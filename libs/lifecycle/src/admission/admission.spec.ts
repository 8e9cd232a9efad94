import { aLayout } from '@coxswain/layout/testing';
import { fairOrder } from './fair-order.ts';
import { FreeGpus } from './free-gpus.ts';
import { Refusals, type GangRequest } from './refusals.ts';

describe('free GPUs', () => {
  it('are counted node by node, in all and by how many a node has', () => {
    const free = new FreeGpus();
    free.set('a', 8);
    free.set('b', 4);
    free.set('c', 0);
    expect([free.total, free.nodesWith(8), free.nodesWith(4), free.nodesWith(5), free.nodesWith(9)]).toEqual([
      12, 1, 2, 1, 0,
    ]);
    free.set('a', 2);
    expect([free.total, free.nodesWith(8), free.nodesWith(1)]).toEqual([6, 0, 2]);
    free.set('a', 0);
    free.set('b', -1);
    expect([free.total, free.nodesWith(1)]).toEqual([0, 0]);
  });

  it.each<readonly [string, readonly number[], number]>([
    ['more on a node is a rise', [1, 2], 2],
    ['as many as before is none', [2, 2], 1],
    ['less is none', [2, 1], 1],
  ])('%s', (_sentence, counts, want) => {
    const free = new FreeGpus();
    for (const count of counts) free.set('a', count);
    expect(free.rises).toBe(want);
  });
});

const WAITING = { kind: 'waiting', message: 'Needs 16 GPUs.' } as const;
/** Two nodes of eight. */
const request: GangRequest = { layout: aLayout({ tensorParallelDegree: 8, dataParallelDegree: 2 }), gpusPerNode: 8 };

/** A cluster whose nodes have that many GPUs free, and a refusal of `request` at time 0. */
function refusedWith(...counts: readonly number[]): { free: FreeGpus; refusals: Refusals } {
  const free = new FreeGpus();
  counts.forEach((count, index) => free.set(`node-${index}`, count));
  const refusals = new Refusals(free);
  refusals.note(request, WAITING, 0);
  return { free, refusals };
}

/** Free GPUs node by node at the refusal, what a node has free since, and when it is asked. */
interface Happening {
  readonly free: readonly number[];
  readonly then?: readonly [node: string, gpus: number];
  readonly atMs: number;
}

describe('a request that was refused', () => {
  it.each<readonly [string, Happening, boolean]>([
    ['stands while nothing changes', { free: [8, 0], atMs: 1_000 }, true],
    ['stands while too few GPUs are freed', { free: [8, 0], then: ['node-1', 7], atMs: 1_000 }, true],
    ['stands while enough GPUs are freed, but on too few nodes', { free: [8, 4], then: ['c', 4], atMs: 1_000 }, true],
    ['is searched again when enough nodes have enough', { free: [8, 0], then: ['node-1', 8], atMs: 1_000 }, false],
    [
      'is searched again after half an hour, so that its sentence is not too old',
      { free: [8, 0], atMs: 1_800_000 },
      false,
    ],
    ['stands for 10 s where the GPUs are there, but promised or not together', { free: [8, 8], atMs: 9_999 }, true],
    ['is searched again after 10 s where the GPUs are there', { free: [8, 8], atMs: 10_000 }, false],
    [
      'is searched again when more is freed where the GPUs are there',
      { free: [8, 8], then: ['c', 1], atMs: 1_000 },
      false,
    ],
  ])('%s', (_sentence, happening, want) => {
    const { free, refusals } = refusedWith(...happening.free);
    const { then, atMs: nowMs } = happening;
    if (then !== undefined) free.set(...then);
    expect(refusals.standing({ uid: 'a', request }, nowMs)).toEqual(want ? WAITING : undefined);
    expect(refusals.isStillRefused('a', nowMs)).toBe(want);
  });

  it('is refused to every job that asks for the same, and to no other', () => {
    const { refusals } = refusedWith(8, 0);
    expect(refusals.standing({ uid: 'b', request: structuredClone(request) }, 0)).toEqual(WAITING);
    expect(refusals.standing({ uid: 'c', request: { ...request, gpusPerNode: 4 } }, 0)).toBeUndefined();
    expect(refusals.isStillRefused('never-seen', 0)).toBe(false);
  });

  it('leaves nothing of a job behind that is gone', () => {
    const { refusals } = refusedWith(8, 0);
    const before = refusals.size;
    refusals.standing({ uid: 'a', request }, 0);
    refusals.forget('a');
    expect([refusals.size, refusals.isStillRefused('a', 0)]).toEqual([before, false]);
  });
});

describe('jobs that wait', () => {
  const job = (name: string, namespace: string, since: string) => ({ name, namespace, since });
  it.each<readonly [string, readonly ReturnType<typeof job>[], readonly string[]]>([
    ['are none', [], []],
    [
      'of one namespace go in the order of waiting',
      [job('b', 'x', '2026-01-02'), job('a', 'x', '2026-01-01')],
      ['a', 'b'],
    ],
    [
      'of two namespaces take turns, however many one of them has',
      [
        ...[1, 2, 3].map((day) => job(`big-${day}`, 'big', `2026-01-0${day}`)),
        job('small-1', 'small', '2026-02-01'),
        job('small-2', 'small', '2026-02-02'),
      ],
      ['big-1', 'small-1', 'big-2', 'small-2', 'big-3'],
    ],
  ])('%s', (_sentence, jobs, want) => {
    expect(fairOrder(jobs).map(({ name }) => name)).toEqual(want);
  });
});
