import type { Attempt } from '@coxswain/api-types';
import { placementSha256 } from '@coxswain/scheduling';
import type { NodeNotice } from '../notices/node-notices.ts';
import type { Observed, ObservedPod } from '../observation/observed.ts';
import { aCheckpoint, aPlacement, aPod } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, EARLIER, kinds, NOW, settled } from '../testing/jobs.ts';
import { decide } from './decide.ts';

const job = aJob({ spec: { standby: 2 } });
/** Two pods of two ranks, and two standbys. */
const placement = aPlacement(job, { nodes: ['node-a', 'node-b', 'node-c', 'node-d'], ranks: ['0-1', '2-3', '', ''] });
const pods = placement.spec.nodes.map((nodeName, podIndex) => aPod(job, { podIndex, nodeName, held: true }));
const ended = { phase: 'Failed', running: false, disruption: 'EvictionByEvictionAPI' } as const;
const deleted = { deletionTimestamp: EARLIER } as const;
/** The first standby holds the ranks of pod 1. */
const REPLACED: Partial<Attempt> = {
  incarnation: 2,
  replacements: [{ podIndex: 1, standby: 2, incarnation: 2 }],
  incarnations: [{ incarnation: 1, runningAt: EARLIER, endedAt: EARLIER, reason: 'NodeLost', charged: false }],
  resumedFrom: { checkpoint: 'tiny-gpt-3f1c2b9e-e1-s40', step: 40 },
};

/** The running gang, with what differs of its pods by index. */
function aGang(
  differing: Readonly<Record<number, Partial<ObservedPod>>>,
  { attempt, ...observed }: Partial<Observed> & { readonly attempt?: Partial<Attempt> } = {},
): Observed {
  const sha256 = placementSha256(placement.spec);
  const status = { runningAt: EARLIER, standbys: 2, standbyGpus: 4, placementSha256: sha256, ...attempt };
  return {
    ...aRunningJob({
      status: { attempts: [anAttempt(status)] },
      spec: { spec: { standby: 2 } },
      pods: () => pods.map((pod, podIndex) => ({ ...pod, ...differing[podIndex] })),
    }),
    placements: [placement],
    checkpoints: [aCheckpoint(job, { spec: { step: 40 } })],
    ...observed,
  };
}

/** The decision from caches, after the status was written. */
function asCached(seen: Observed): ReturnType<typeof decide> {
  const { status } = settled(seen);
  return decide({ ...seen, job: { ...seen.job, status }, isProven: false }, NOW);
}

const uids = (...indices: readonly number[]) => indices.map((index) => ({ uid: pods[index]?.uid }));

describe('a standby on a node that is to be emptied', () => {
  it.each<[string, Partial<NodeNotice>]>([
    ['that an administrator asked for', { isRequested: true }],
    ['that a cloud announced', {}],
  ])('%s is deleted at once, and its gang trains on', (_what, notice) => {
    const { actions, status } = settled(
      aGang(
        {},
        { nodeStates: new Map([['node-c', 'leaving']]), noticeOf: () => ({ rule: 'r', mark: 'm', ...notice }) },
      ),
    );
    expect(actions).toEqual([
      { kind: 'deletePods', pods: [expect.objectContaining(uids(2)[0] ?? {})], gracePeriodSeconds: 1 },
    ]);
    expect(status.attempts?.at(-1)).toMatchObject({ stage: 'Released' });
  });

  it('stays where it is if it holds ranks by now: its gang is asked to save first', () => {
    const { actions, status } = settled(
      aGang(
        { 1: { ...ended, ...deleted, held: false } },
        { attempt: REPLACED, nodeStates: new Map([['node-c', 'leaving']]) },
      ),
    );
    expect(status.attempts?.at(-1)).toMatchObject({ stage: 'Stopping', outcome: 'Moved' });
    expect(actions).toContainEqual(expect.objectContaining({ kind: 'deletePods', gracePeriodSeconds: 60 }));
  });

  it('is not deleted because only a cache says so', () => {
    const seen = aGang({}, { nodeStates: new Map([['node-c', 'leaving']]) });
    expect(kinds(asCached(seen).actions)).toEqual(['readLive']);
  });
});

describe('of a gang that runs, our finalizer', () => {
  it.each<[string, Observed, readonly number[]]>([
    ['stays at every pod that is alive', aGang({}), []],
    ['stays at a pod that lost its ranks and may still compute', aGang({ 1: deleted }, { attempt: REPLACED }), []],
    ['leaves a pod that lost its ranks and ended', aGang({ 1: ended }, { attempt: REPLACED }), [1]],
    ['leaves a standby that was drained', aGang({ 3: { ...ended, ...deleted } }), [3]],
    ['stays at a standby that ended, until somebody deletes it', aGang({ 3: ended }), []],
    ['leaves both', aGang({ 1: { ...ended, ...deleted }, 3: { ...ended, ...deleted } }, { attempt: REPLACED }), [1, 3]],
  ])('%s', (_what, seen, want) => {
    const released = settled(seen).actions.flatMap((action) => (action.kind === 'releasePods' ? action.pods : []));
    expect(released).toMatchObject(uids(...want));
  });

  it('leaves a standby only by the newest status: an older one does not show that it holds ranks by now', () => {
    const seen = aGang({ 3: { ...ended, ...deleted } });
    expect(kinds(asCached(seen).actions)).toEqual(['readLive']);
    expect(kinds(asCached({ ...seen, isStatusProven: true }).actions)).toEqual(['releasePods']);
  });
});
