import { aLayout } from '@coxswain/layout/testing';
import { FreeGpus } from './free-gpus.ts';
import type { GangRequest } from '../gang-request.ts';
import { Refusals } from './refusals.ts';

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
  const refusals = new Refusals({ freeFor: () => free, rises: () => free.rises });
  refusals.record({ request, refusal: WAITING, rises: free.rises }, 0);
  return { free, refusals };
}

/** Free GPUs node by node at the refusal, what a node has free since, who is offered that, and when it is asked. */
interface Happening {
  readonly free: readonly number[];
  readonly then?: readonly [node: string, gpus: number];
  readonly offeredTo?: readonly string[];
  readonly atMs: number;
}

const offer = (refusals: Refusals, uids: readonly string[], nowMs: number): readonly string[] =>
  refusals
    .offer(
      uids.map((uid) => ({ metadata: { uid } })),
      nowMs,
    )
    .map(({ metadata }) => metadata.uid);

describe('a request that was refused', () => {
  const enough = ['node-1', 8] as const;
  const a = { offeredTo: ['a'] } as const;
  it.each<readonly [string, Happening, boolean]>([
    ['stands while nothing changes', { free: [8, 0], ...a, atMs: 1_000 }, true],
    ['stands while too few GPUs are freed', { free: [8, 0], then: ['node-1', 7], ...a, atMs: 1_000 }, true],
    ['stands while enough are freed, but on too few nodes', { free: [8, 4], then: ['c', 4], ...a, atMs: 1_000 }, true],
    ['is searched again when enough nodes have enough', { free: [8, 0], then: enough, ...a, atMs: 1_000 }, false],
    ['stands while what was freed was not offered', { free: [8, 0], then: enough, atMs: 1_000 }, true],
    ['stands while it was offered to others', { free: [8, 0], then: enough, offeredTo: ['b'], atMs: 1_000 }, true],
    ['is searched again after half an hour, for its sentence is old', { free: [8, 0], atMs: 1_800_000 }, false],
    ['stands for 10 s where the GPUs are there, but promised or not together', { free: [8, 8], atMs: 9_999 }, true],
    ['is searched again after 10 s where the GPUs are there', { free: [8, 8], atMs: 10_000 }, false],
    [
      'is searched again when more is freed where the GPUs are there',
      { free: [8, 8], then: ['c', 1], ...a, atMs: 1_000 },
      false,
    ],
  ])('%s', (_sentence, happening, want) => {
    const { free, refusals } = refusedWith(...happening.free);
    const { then, offeredTo, atMs: nowMs } = happening;
    refusals.standing({ uid: 'a', request }, 0);
    if (then !== undefined) free.set(...then);
    if (offeredTo !== undefined) offer(refusals, offeredTo, nowMs);
    expect(refusals.standing({ uid: 'a', request }, nowMs)).toEqual(want ? WAITING : undefined);
  });

  it('is open to everybody 10 s after enough is free, should nobody offer it', () => {
    const { free, refusals } = refusedWith(8, 0);
    free.set('node-1', 8);
    const isRefused = (nowMs: number): boolean => refusals.standing({ uid: 'a', request }, nowMs) !== undefined;
    expect([isRefused(60_000), isRefused(69_999), isRefused(70_000)]).toEqual([true, true, false]);
  });

  it('and was refused again after an offer stands until the next one', () => {
    const { free, refusals } = refusedWith(8, 0);
    refusals.standing({ uid: 'a', request }, 0);
    free.set('node-1', 8);
    expect(offer(refusals, ['a'], 1_000)).toEqual(['a']);
    refusals.record({ request, refusal: WAITING, rises: free.rises }, 1_000);
    expect(refusals.standing({ uid: 'a', request }, 1_000)).toEqual(WAITING);
    expect(offer(refusals, ['a'], 2_000)).toEqual([]);
    free.reservationEnded();
    expect(offer(refusals, ['a'], 2_000)).toEqual(['a']);
  });

  it('is searched again by those that were offered what became free while it was searched', () => {
    const { free, refusals } = refusedWith(8, 0);
    refusals.standing({ uid: 'a', request }, 0);
    const searchedAt = free.rises;
    free.set('node-1', 8);
    offer(refusals, ['a'], 1_000);
    refusals.record({ request, refusal: WAITING, rises: searchedAt }, 1_100);
    expect(refusals.standing({ uid: 'a', request }, 1_100)).toBeUndefined();
  });

  it('is refused to every job that asks for the same, and to no other', () => {
    const { refusals } = refusedWith(8, 0);
    expect(refusals.standing({ uid: 'b', request: structuredClone(request) }, 0)).toEqual(WAITING);
    expect(refusals.standing({ uid: 'c', request: { ...request, gpusPerNode: 4 } }, 0)).toBeUndefined();
    expect(refusals.standing({ uid: 'd', request: { ...request, replacing: 'd' } }, 0)).toBeUndefined();
    const stageGpus = [{ stages: 1, gpuType: 'H100' }];
    expect(refusals.standing({ uid: 'e', request: { ...request, stageGpus } }, 0)).toBeUndefined();
    expect(offer(refusals, ['b', 'never-seen'], 0)).toEqual(['never-seen']);
  });

  it.each<readonly [string, readonly number[], number, boolean]>([
    ['is vain while too few GPUs are free for every job that asked', [8, 4], 9_999, true],
    ['is made where they are enough', [8, 8], 9_999, false],
    ['is made once in ten seconds, for jobs that never asked', [8, 4], 10_000, false],
  ])('an offer %s', (_sentence, counts, nowMs, want) => {
    const { refusals } = refusedWith(...counts);
    refusals.standing({ uid: 'a', request }, 0);
    refusals.standing({ uid: 'small', request: { ...request, layout: aLayout({ tensorParallelDegree: 1 }) } }, 0);
    refusals.forget('small');
    offer(refusals, ['a'], 0);
    expect(refusals.isOfferVain(nowMs)).toBe(want);
  });

  it('is offered to as many jobs of a namespace as fit, and to eight more, in the order of their turn', () => {
    const { free, refusals } = refusedWith(8, 8);
    const jobs = Array.from({ length: 40 }, (_, index) => ({
      metadata: { uid: `job-${index}`, namespace: index % 2 === 0 ? 'one' : 'other' },
    }));
    for (const { metadata } of jobs) refusals.standing({ uid: metadata.uid, request }, 0);
    free.reservationEnded();
    const inTurn = [...refusals.offer(jobs, 0)].reverse();
    expect(refusals.firstOf(inTurn).map(({ metadata }) => metadata.uid)).toEqual(
      inTurn.slice(0, 18).map(({ metadata }) => metadata.uid),
    );
  });

  it('leaves nothing of a job behind that is gone', () => {
    const { refusals } = refusedWith(8, 0);
    const before = refusals.size;
    refusals.standing({ uid: 'a', request }, 0);
    refusals.forget('a');
    expect([refusals.size, refusals.requestOf('a')]).toEqual([before, undefined]);
  });
});
