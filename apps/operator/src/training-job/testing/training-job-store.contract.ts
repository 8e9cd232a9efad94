/*
 * The sentences of the port TrainingJobStore, as a suite that each implementation runs. One file of more than 400 lines, because a store
 * is only held to the contract when it runs all of it.
 */
import {
  API_GROUP_VERSION,
  FINALIZER,
  LABELS,
  POD_FINALIZER,
  SCHEDULING_GATE,
  type Checkpoint,
  type CheckpointSuspicion,
  type Placement,
  type TrainingJob,
  podName,
} from '@coxswain/api-types';
import { aJobSpec, anAttempt, aTrainingJob, aVerification } from '@coxswain/api-types/testing';
import { isConflict, isNotFound, isRefusal, keyOf, NotLeadingError, type KubeObject } from '@coxswain/kube';
import type { Condemnation } from '@coxswain/lifecycle';
import { placementSha256, type ClusterScheduler } from '@coxswain/scheduling';
import { aCheckpoint, aPlacement } from '@coxswain/lifecycle/testing';
import { childLabels } from '../../cluster/cluster-cache.ts';
import type { Kind } from './in-memory-cluster.ts';
import { ownedBy } from '../owner.ts';
import type { TrainingJobStore } from '../training-job-store.ts';

/** A store, the cluster that it writes to, and somebody else who changes the same cluster. */
export interface StoreWorld {
  readonly store: TrainingJobStore;
  /** Who gets GPUs, over the same view of the cluster as the store's. */
  readonly scheduler: ClusterScheduler;
  /** A namespace of this world's own. */
  readonly namespace: string;
  /** Whether this process leads. */
  lead(leads: boolean): void;
  /** From now on the store may hear of nothing but the answers to its own reads and writes. */
  blind(): void;
  /** Waits until the store's reads show it. */
  until(what: string, isSo: () => boolean): Promise<void>;
  /** What others do, past the store. Names are of the world's namespace, but for nodes. */
  readonly others: {
    create(kind: Kind, object: unknown): Promise<KubeObject>;
    /** Merges metadata into an object's. */
    annotate(kind: Kind, name: string, metadata: Record<string, unknown>): Promise<void>;
    /** Merges fields into a job's status, as `kubectl edit --subresource=status` does. */
    scribble(name: string, status: Record<string, unknown>): Promise<void>;
    delete(kind: Kind, name: string): Promise<void>;
    get<T extends KubeObject>(kind: Kind, name: string): Promise<T | undefined>;
    /** A node that takes pods, of a name of its own. */
    node(options: { readonly ready: boolean }): Promise<string>;
  };
}

const SOUND = aVerification();
const CUT_OFF: Condemnation = {
  by: 'Content',
  evidence: [
    {
      epoch: 2,
      node: 'node-a',
      kind: 'ContentDiffers',
      path: '/coxswain/checkpoints/rank-0.bin',
      expected: '8 bytes',
      found: '7 bytes',
    },
  ],
};

const UNREADABLE: CheckpointSuspicion = {
  reason: 'Unreadable',
  evidence: [
    { epoch: 2, node: 'node-a', kind: 'FileUnreadable', path: '/coxswain/checkpoints/rank-0.bin', errno: 'EIO' },
  ],
};

/** What the port promises, of whichever store `start` gives; each test has a world of its own. */
export function holdsToTheContract(start: () => Promise<StoreWorld>): void {
  let world: StoreWorld;
  let store: TrainingJobStore;
  let job: TrainingJob;
  beforeEach(async () => {
    world = await start();
    ({ store } = world);
    job = await submit('tiny');
  });

  const aJob = (name: string, metadata: Record<string, unknown> = {}): unknown => ({
    apiVersion: API_GROUP_VERSION,
    kind: 'TrainingJob',
    metadata: { name, namespace: world.namespace, ...metadata },
    spec: aJobSpec(),
  });
  const submit = async (name: string, metadata: Record<string, unknown> = {}): Promise<TrainingJob> => {
    const made = await world.others.create('TrainingJob', aJob(name, metadata));
    await world.until(`${name} to be seen`, () => newest(name)?.metadata.uid === made.metadata.uid);
    return newest(name) as TrainingJob;
  };
  const newest = (name = 'tiny'): TrainingJob | undefined =>
    store.findJob(keyOf({ metadata: { name, namespace: world.namespace } }));
  const replaceUnseen = async (kind: Kind, name: string, successor: unknown): Promise<KubeObject> => {
    world.blind();
    await world.others.delete(kind, name);
    return world.others.create(kind, successor);
  };
  const readLive = (what: { podNames?: readonly string[]; nodes?: readonly string[] } = {}) =>
    store.readLive(job, { podNames: [], nodes: [], ...what });
  const placement = (epoch = 1): { readonly name: string; readonly spec: Placement['spec'] } => {
    const { metadata, spec } = aPlacement(job, { epoch });
    return { name: metadata.name, spec };
  };
  const checkpoint = (): { readonly name: string; readonly spec: Checkpoint['spec'] } => ({
    name: 'tiny-checkpoint',
    spec: aCheckpoint(job).spec,
  });
  const theirs = (spec: Partial<Checkpoint['spec']> = {}): unknown => ({
    apiVersion: API_GROUP_VERSION,
    kind: 'Checkpoint',
    metadata: { name: checkpoint().name, namespace: world.namespace },
    spec: { ...checkpoint().spec, ...spec },
  });
  const name = (): string => podName(job.metadata, { epoch: 1, podIndex: 0 });
  const aPod = (metadata: Record<string, unknown>, spec: Record<string, unknown>): Record<string, unknown> => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: name(), namespace: world.namespace, ...metadata },
    spec: { containers: [{ name: 'trainer', image: 'example/image' }], ...spec },
  });
  const ourPod = (
    spec: Record<string, unknown> = GATED,
    metadata: Record<string, unknown> = {},
  ): Record<string, unknown> => {
    const labels = { ...childLabels(job, 1), [LABELS.podIndex]: '0' };
    return aPod({ labels, ownerReferences: [ownedBy(job)], ...metadata }, spec);
  };
  const podOfAnother = (): unknown => aPod({}, GATED);
  const gatesOf = async (): Promise<readonly string[]> => {
    const pod = await world.others.get<KubeObject & { spec: Gated }>('Pod', name());
    return (pod?.spec.schedulingGates ?? []).map((gate) => gate.name);
  };
  const madePod = async (
    spec?: Record<string, unknown>,
    metadata?: Record<string, unknown>,
  ): Promise<{ name: string; uid: string }> => {
    await store.createPod(job, ourPod(spec, metadata));
    return { name: name(), uid: store.podsOf(job)[0]?.uid ?? '' };
  };

  describe('a job', () => {
    it('of a key that nobody has is none', () => {
      expect(newest('nobody')).toBeUndefined();
    });

    it('has the status that was written at once, though the cluster’s changes are not heard', async () => {
      world.blind();
      const written = await store.writeStatus(job, QUEUED);
      const live = await world.others.get<TrainingJob & KubeObject>('TrainingJob', 'tiny');
      expect(written.status).toEqual(QUEUED);
      expect([newest()?.status, live?.status]).toEqual([QUEUED, QUEUED]);
      expect(newest()?.metadata.resourceVersion).toBe(live?.metadata.resourceVersion);
    });

    it('has no field in its status any more that was not written again, whoever had written it', async () => {
      const full = { ...QUEUED, summary: 'Waits.', notBefore: '2026-01-01T00:00:00Z' } as const;
      const written = await store.writeStatus(job, full);
      await world.others.scribble('tiny', { progress: { step: 7, reportedAt: '2026-01-01T00:00:00Z' } });
      await world.until('the scribble to be seen', () => newest()?.status?.progress !== undefined);
      expect(written.status).toEqual(full);
      expect((await store.writeStatus(newest() ?? job, QUEUED)).status).toEqual(QUEUED);
    });

    it('that somebody edited is a conflict for who saw it before, and is shown as it is from then on', async () => {
      world.blind();
      await world.others.annotate('TrainingJob', 'tiny', { annotations: { edited: 'yes' } });
      const error = await rejection(store.writeStatus(job, QUEUED));
      expect(isConflict(error)).toBe(true);
      const seen = newest();
      expect([seen?.metadata.annotations, seen?.status]).toEqual([{ edited: 'yes' }, undefined]);
      await store.writeStatus(seen ?? job, QUEUED);
      expect(newest()).toMatchObject({ status: QUEUED, metadata: { annotations: { edited: 'yes' } } });
    });

    it('of another UID under the same name is left alone', async () => {
      const successor = await replaceUnseen('TrainingJob', 'tiny', aJob('tiny'));
      expect(isConflict(await rejection(store.writeStatus(job, QUEUED)))).toBe(true);
      expect(isConflict(await rejection(store.addFinalizer(job)))).toBe(true);
      expect(await world.others.get('TrainingJob', 'tiny')).toEqual(successor);
    });

    it('that is gone cannot be written, and is none from then on', async () => {
      world.blind();
      await world.others.delete('TrainingJob', 'tiny');
      expect(isNotFound(await rejection(store.writeStatus(job, QUEUED)))).toBe(true);
      expect(newest()).toBeUndefined();
    });
  });

  describe('the finalizer', () => {
    it('is added once, beside those of others', async () => {
      const held = await submit('held', { finalizers: ['example.com/other'] });
      world.blind();
      await store.addFinalizer(held);
      const once = newest('held') as TrainingJob;
      expect(once.metadata.finalizers).toEqual(['example.com/other', FINALIZER]);
      await store.addFinalizer(once);
      expect(newest('held')).toEqual(once);
      await store.removeFinalizer(once);
      expect(newest('held')?.metadata.finalizers).toEqual(['example.com/other']);
      await store.removeFinalizer(newest('held') ?? held);
      await world.others.annotate('TrainingJob', 'held', { finalizers: null });
    });

    it('is not written over somebody else’s change', async () => {
      world.blind();
      await world.others.annotate('TrainingJob', 'tiny', { finalizers: ['example.com/other'] });
      expect(isConflict(await rejection(store.addFinalizer(job)))).toBe(true);
      expect(newest()?.metadata.finalizers).toEqual(['example.com/other']);
      await world.others.annotate('TrainingJob', 'tiny', { finalizers: null });
    });

    it('keeps a deleted job until it is removed, and the job is none at once', async () => {
      await store.addFinalizer(job);
      await world.others.delete('TrainingJob', 'tiny');
      await world.until('the deletion to be seen', () => newest()?.metadata.deletionTimestamp !== undefined);
      world.blind();
      await store.removeFinalizer(newest() ?? job);
      expect(newest()).toBeUndefined();
      expect(await world.others.get('TrainingJob', 'tiny')).toBeUndefined();
    });
  });

  describe('a placement', () => {
    it('is shown at once, and made once when it is made twice', async () => {
      world.blind();
      await store.createPlacement(job, placement());
      const [first] = store.placementsOf(job);
      await store.createPlacement(job, placement());
      expect(store.placementsOf(job)).toEqual([first]);
      expect(first).toMatchObject({ spec: { jobUid: job.metadata.uid, epoch: 1 } });
    });

    it.each([
      ['another job', { jobUid: 'another' }],
      ['another epoch', { epoch: 7 }],
    ])('whose name %s has taken shows what stands there, and that one is left as it is', async (_whose, spec) => {
      const { name: taken, spec: own } = placement();
      world.blind();
      const theirs = await world.others.create('Placement', {
        apiVersion: API_GROUP_VERSION,
        kind: 'Placement',
        metadata: { name: taken, namespace: world.namespace },
        spec: { ...own, ...spec },
      });
      await store.createPlacement(job, placement());
      expect(store.placementsOf(job)).toMatchObject([{ metadata: { name: taken, uid: theirs.metadata.uid } }]);
      expect(await world.others.get('Placement', taken)).toEqual(theirs);
    });

    it('is found by a live read though it was not heard of, whoever made it, and is shown from then on', async () => {
      const { name: unheard, spec } = placement();
      world.blind();
      const read = { podNames: [], nodes: [], placement: unheard };
      await store.readLive(job, read);
      expect(store.placementsOf(job)).toEqual([]);
      const metadata = { name: unheard, namespace: world.namespace };
      await world.others.create('Placement', { apiVersion: API_GROUP_VERSION, kind: 'Placement', metadata, spec });
      await store.readLive(job, read);
      expect(store.placementsOf(job)).toMatchObject([{ metadata: { name: unheard } }]);
    });

    it('is found by a live read of all that the job has, though neither it nor its name was heard of', async () => {
      const { name: unheard, spec } = placement(3);
      world.blind();
      await store.readLive(job, { podNames: [], nodes: [], allPlacements: true });
      expect(store.placementsOf(job)).toEqual([]);
      const metadata = { name: unheard, namespace: world.namespace, labels: childLabels(job, 3) };
      await world.others.create('Placement', { apiVersion: API_GROUP_VERSION, kind: 'Placement', metadata, spec });
      await store.readLive(job, { podNames: [], nodes: [], allPlacements: true });
      expect(store.placementsOf(job)).toMatchObject([{ metadata: { name: unheard }, spec: { epoch: 3 } }]);
    });

    it('that is deleted is not shown any more, and deleting it again is success', async () => {
      await store.createPlacement(job, placement());
      const [made] = store.placementsOf(job);
      const reference = { name: placement().name, uid: made?.metadata.uid ?? '' };
      await store.deletePlacement(job, reference);
      expect(store.placementsOf(job)).toEqual([]);
      await store.deletePlacement(job, reference);
    });

    it('of another UID under the same name is not deleted', async () => {
      await store.createPlacement(job, placement());
      await store.deletePlacement(job, { name: placement().name, uid: 'of-a-predecessor' });
      expect(await world.others.get('Placement', placement().name)).toBeDefined();
    });

    const record = async (made: { readonly name: string; readonly spec: Placement['spec'] }): Promise<void> => {
      const attempt = { placement: made.name, placementSha256: placementSha256(made.spec) };
      const attempts = [anAttempt({ stage: 'Creating', ...attempt })];
      await store.writeStatus(newest() ?? job, { ...QUEUED, epoch: 1, attempts });
    };

    it('holds the GPUs of its pods against other jobs where status records it', async () => {
      const node = await world.others.node({ ready: true });
      const { name: ours, spec } = placement();
      const recorded = { name: ours, spec: { ...spec, nodes: [node, node] } };
      await record(recorded);
      await store.createPlacement(job, recorded);
      const rival = await submit('rival');
      await world.until(
        'the node to be seen',
        () => world.scheduler.capacityFor(rival.metadata.uid).usedGpus.get(node) === 4,
      );
      expect(world.scheduler.capacityFor(job.metadata.uid).usedGpus.get(node)).toBeUndefined();
    });

    it('of another hash than the recorded one holds nothing, whatever else it says', async () => {
      const node = await world.others.node({ ready: true });
      const { name: ours, spec } = placement();
      await record({ name: ours, spec: { ...spec, nodes: [node, 'another'] } });
      await store.createPlacement(job, { name: ours, spec: { ...spec, nodes: [node, node] } });
      const rival = await submit('rival');
      await world.until('it to be seen', () => store.placementsOf(job).length === 1);
      expect(world.scheduler.capacityFor(rival.metadata.uid).usedGpus.get(node)).toBeUndefined();
    });
  });

  describe('a placement that somebody deleted', () => {
    const deleted = async (stage: 'Released' | 'Ended'): Promise<Placement['spec']> => {
      const made = placement();
      const attempt = { placement: made.name, placementSha256: placementSha256(made.spec) };
      await store.writeStatus(job, { ...QUEUED, epoch: 1, attempts: [anAttempt({ stage, ...attempt })] });
      await store.createPlacement(job, made);
      await world.until('it to be seen', () => store.placementsOf(job).length === 1);
      await world.others.delete('Placement', made.name);
      await world.until('it to be gone', () => store.placementsOf(job).length === 0);
      return made.spec;
    };

    it('while status records that its gang is up is kept, until it is there again', async () => {
      const spec = await deleted('Released');
      expect(store.keptPlacementOf(newest() ?? job)).toEqual(spec);
      await store.createPlacement(newest() ?? job, placement());
      expect(store.placementsOf(job)).toMatchObject([{ spec }]);
      expect(store.keptPlacementOf(newest() ?? job)).toBeUndefined();
    });

    it('after its gang ended is kept no more', async () => {
      await deleted('Ended');
      expect(store.keptPlacementOf(newest() ?? job)).toBeUndefined();
    });
  });

  describe('a reservation', () => {
    const seenNode = async (ready = true): Promise<string> => {
      const name = await world.others.node({ ready });
      await world.until('the node to be seen', () =>
        world.scheduler
          .capacityFor(job.metadata.uid)
          .fabric.nodes.some((node) => node.name === name && node.gpus > 0 && node.usable === ready),
      );
      return name;
    };
    const on = (owner: TrainingJob, node: string): Placement['spec'] => ({
      ...aPlacement(owner).spec,
      nodes: [node, node],
    });
    const usedFor = (viewer: TrainingJob, node: string): number | undefined =>
      world.scheduler.capacityFor(viewer.metadata.uid).usedGpus.get(node);

    it('holds GPUs against the other jobs, until it is released', async () => {
      const node = await seenNode();
      const rival = await submit('rival');
      const { version } = world.scheduler.capacityFor(job.metadata.uid);
      expect(world.scheduler.reserve(on(job, node), version)).toBe(true);
      expect([usedFor(rival, node), usedFor(job, node)]).toEqual([4, undefined]);
      expect(world.scheduler.reservedFor(job.metadata.uid)).toEqual(on(job, node));
      world.scheduler.release(job.metadata.uid);
      expect([usedFor(rival, node), world.scheduler.reservedFor(job.metadata.uid)]).toEqual([undefined, undefined]);
    });

    it('of GPUs that another job got since they were looked at is refused, and holds nothing', async () => {
      const node = await seenNode();
      const { version } = world.scheduler.capacityFor(job.metadata.uid);
      const rivals = [await submit('rival'), await submit('rival-2')];
      for (const rival of rivals) expect(world.scheduler.reserve(on(rival, node), version)).toBe(true);
      expect(world.scheduler.fits(on(job, node))).toBe(false);
      expect(world.scheduler.reserve(on(job, node), version)).toBe(false);
      expect(world.scheduler.reservedFor(job.metadata.uid)).toBeUndefined();
    });

    it('is not refused because something else changed: another node came, and another job got its GPUs', async () => {
      const node = await seenNode();
      const { version } = world.scheduler.capacityFor(job.metadata.uid);
      const other = await seenNode();
      const rival = await submit('rival');
      expect(world.scheduler.reserve(on(rival, other), world.scheduler.capacityFor(rival.metadata.uid).version)).toBe(
        true,
      );
      expect(world.scheduler.reserve(on(job, node), version)).toBe(true);
    });

    it.each(['that came after they were looked at', 'that takes no pods', 'that does not exist'])(
      'of GPUs of a node %s is refused',
      async (which) => {
        const { version } = world.scheduler.capacityFor(job.metadata.uid);
        const node = which === 'that does not exist' ? 'nowhere' : await seenNode(which !== 'that takes no pods');
        expect(world.scheduler.reserve(on(job, node), version)).toBe(false);
      },
    );
  });

  describe('the ComputeDomain of a gang', () => {
    const domain = { name: 'tiny-e1-abc123', epoch: 1 };
    const found = (): Promise<KubeObject | undefined> => world.others.get('ComputeDomain', domain.name);

    it('is the job’s, and made once when it is made twice', async () => {
      await store.createComputeDomain(job, domain);
      const made = await found();
      await store.createComputeDomain(job, domain);
      expect(made?.metadata.ownerReferences).toMatchObject([{ uid: job.metadata.uid }]);
      expect((await found())?.metadata.uid).toBe(made?.metadata.uid);
    });

    it('is gone when it is deleted, and twice is once', async () => {
      await store.createComputeDomain(job, domain);
      await store.deleteComputeDomain(job, domain.name);
      await store.deleteComputeDomain(job, domain.name);
      expect(await found()).toBeUndefined();
    });

    it('is not one whose name a stranger has taken: that one is told of, and left as it is', async () => {
      const metadata = { name: domain.name, namespace: world.namespace };
      const theirs = await world.others.create('ComputeDomain', {
        apiVersion: 'resource.nvidia.com/v1beta1',
        kind: 'ComputeDomain',
        metadata,
      });
      expect(String(await rejection(store.createComputeDomain(job, domain)))).toMatch(/belongs to another owner/);
      await store.deleteComputeDomain(job, domain.name);
      expect((await found())?.metadata.uid).toBe(theirs.metadata.uid);
    });
  });

  describe('a pod', () => {
    it('is shown at once, and made once when it is made twice', async () => {
      world.blind();
      const pod = await madePod();
      await store.createPod(job, ourPod());
      expect(store.podsOf(job)).toMatchObject([{ ...pod, ours: true, gated: true, epoch: 1, podIndex: 0 }]);
    });

    it('whose name a stranger has taken is shown as not ours, and left as it is', async () => {
      world.blind();
      const theirs = await world.others.create('Pod', podOfAnother());
      await store.createPod(job, ourPod());
      expect(store.podsOf(job)).toMatchObject([{ uid: theirs.metadata.uid, ours: false }]);
    });

    it('that cannot be is refused', async () => {
      expect(isRefusal(await rejection(store.createPod(job, ourPod({ containers: [] }))))).toBe(true);
      expect(store.podsOf(job)).toEqual([]);
    });

    it('loses our gate and no other, at once, and twice is once', async () => {
      const pod = await madePod({ schedulingGates: [{ name: 'example.com/other' }, { name: SCHEDULING_GATE }] });
      world.blind();
      await store.liftGate(job, pod);
      expect(store.podsOf(job)).toMatchObject([{ ...pod, gated: false }]);
      await store.liftGate(job, pod);
      expect(await gatesOf()).toEqual(['example.com/other']);
    });

    it('that is held stays when it is deleted, is shown as going, and goes when it is let go of, beside other finalizers', async () => {
      const pod = await madePod(GATED, { finalizers: ['example.com/other', POD_FINALIZER] });
      world.blind();
      await store.deletePod(job, { ...pod, gracePeriodSeconds: 0 });
      expect(store.podsOf(job)).toMatchObject([
        { ...pod, held: true, deletionTimestamp: expect.any(String) as string },
      ]);
      await store.releasePod(job, pod);
      expect(store.podsOf(job)).toMatchObject([{ ...pod, held: false }]);
      await store.releasePod(job, pod);
      const left = await world.others.get('Pod', pod.name);
      expect(left?.metadata.finalizers).toEqual(['example.com/other']);
      await world.others.annotate('Pod', pod.name, { finalizers: [] });
    });

    it('that is deleted and held by us alone is gone at once when it is let go of, and twice is once', async () => {
      const pod = await madePod(GATED, { finalizers: [POD_FINALIZER] });
      world.blind();
      await world.others.delete('Pod', pod.name);
      await store.releasePod(job, pod);
      expect([store.podsOf(job), await world.others.get('Pod', pod.name)]).toEqual([[], undefined]);
      await store.releasePod(job, pod);
    });

    it('that is gone has no gate to lift', async () => {
      const pod = await madePod();
      world.blind();
      await world.others.delete('Pod', pod.name);
      await store.liftGate(job, pod);
      expect(store.podsOf(job)).toEqual([]);
    });

    it('of another UID under the same name keeps its gate, is not deleted, and is shown as what it is', async () => {
      const pod = await madePod();
      const theirs = await replaceUnseen('Pod', pod.name, podOfAnother());
      await store.liftGate(job, pod);
      expect(await gatesOf()).toEqual([SCHEDULING_GATE]);
      expect(store.podsOf(job)).toContainEqual(expect.objectContaining({ uid: theirs.metadata.uid, ours: false }));
      await store.deletePod(job, { ...pod, gracePeriodSeconds: 0 });
      expect(await world.others.get('Pod', pod.name)).toBeDefined();
      expect(store.podsOf(job).map(({ uid }) => uid)).toEqual([theirs.metadata.uid]);
    });

    it('that is deleted before it was bound is gone at once, and deleting it again is success', async () => {
      const pod = await madePod();
      world.blind();
      await store.deletePod(job, { ...pod, gracePeriodSeconds: 30 });
      expect(store.podsOf(job)).toEqual([]);
      await store.deletePod(job, { ...pod, gracePeriodSeconds: 30 });
    });

    it('that is bound stays while its grace period lasts, and is shown as going', async () => {
      const nodeName = await world.others.node({ ready: true });
      const pod = await madePod({ nodeName });
      world.blind();
      await store.deletePod(job, { ...pod, gracePeriodSeconds: 30 });
      expect(store.podsOf(job)).toMatchObject([{ ...pod, nodeName, deletionTimestamp: expect.any(String) as string }]);
      await store.deletePod(job, { ...pod, gracePeriodSeconds: 0 });
      expect(store.podsOf(job)).toEqual([]);
    });

    it('is found by a live read though it was not heard of, whoever owns it, and is shown from then on', async () => {
      world.blind();
      await readLive({ podNames: [name()] });
      expect(store.podsOf(job)).toEqual([]);
      const theirs = await world.others.create('Pod', podOfAnother());
      await readLive({ podNames: [name()] });
      expect(store.podsOf(job)).toMatchObject([{ uid: theirs.metadata.uid, ours: false }]);
    });

    it('of the gang is found by a live read without its name, and one that is gone unheard of is shown no more', async () => {
      const mine = await madePod();
      world.blind();
      await world.others.delete('Pod', mine.name);
      const other = podName(job.metadata, { epoch: 2, podIndex: 1 });
      const unheard = ourPod() as { readonly metadata: Record<string, unknown> };
      await world.others.create('Pod', { ...unheard, metadata: { ...unheard.metadata, name: other } });
      await readLive();
      expect(store.podsOf(job).map((pod) => pod.name)).toEqual([other]);
    });

    it('that was replaced unheard of is shown as its successor', async () => {
      const pod = await madePod();
      const successor = await replaceUnseen('Pod', pod.name, ourPod());
      await readLive();
      expect(store.podsOf(job)).toMatchObject([{ uid: successor.metadata.uid, ours: true }]);
    });

    it('that has changed since it was looked at is not deleted, and is shown as it is now', async () => {
      const pod = await madePod();
      const [observed] = store.podsOf(job);
      world.blind();
      await world.others.annotate('Pod', pod.name, { annotations: { changed: 'yes' } });
      const reference = { ...pod, resourceVersion: observed?.resourceVersion ?? '' };
      expect(await store.deletePod(job, { ...reference, gracePeriodSeconds: 0 })).toBe('changed');
      const [now] = store.podsOf(job);
      expect(await world.others.get('Pod', pod.name)).toMatchObject({
        metadata: { resourceVersion: now?.resourceVersion },
      });
      const seen = { ...pod, resourceVersion: now?.resourceVersion ?? '' };
      expect(await store.deletePod(job, { ...seen, gracePeriodSeconds: 0 })).toBe('deleted');
      expect([store.podsOf(job), await world.others.get('Pod', pod.name)]).toEqual([[], undefined]);
    });

    it('that has changed is deleted by its UID where no version is asked for, and one of another UID is not', async () => {
      const pod = await madePod();
      world.blind();
      await world.others.annotate('Pod', pod.name, { annotations: { changed: 'yes' } });
      const predecessor = { ...pod, uid: '00000000-0000-4000-8000-000000000000' };
      expect(await store.deletePod(job, { ...predecessor, gracePeriodSeconds: 0 })).toBe('deleted');
      expect(await world.others.get('Pod', pod.name)).toBeDefined();
      expect(await store.deletePod(job, { ...pod, gracePeriodSeconds: 0 })).toBe('deleted');
      expect(await world.others.get('Pod', pod.name)).toBeUndefined();
    });

    const bareOfLabels = {
      labels: Object.fromEntries([...Object.keys(childLabels(job0, 1)), LABELS.podIndex].map((key) => [key, null])),
    };

    it('that somebody took the labels from is shown as what it was: its owner and its name say whose it is', async () => {
      const pod = await madePod();
      await world.others.annotate('Pod', pod.name, bareOfLabels);
      const version = (await world.others.get('Pod', pod.name))?.metadata.resourceVersion;
      await world.until('the change to be seen', () => store.podsOf(job)[0]?.resourceVersion === version);
      expect(store.podsOf(job)).toMatchObject([{ ...pod, ours: true, epoch: 1, podIndex: 0 }]);
    });

    it('of twenty that somebody took the labels from unheard of, none is taken for gone by a live read; one that is gone is', async () => {
      const names = Array.from({ length: 21 }, (_, podIndex) => podName(job.metadata, { epoch: 1, podIndex }));
      const like = ourPod() as { readonly metadata: Record<string, unknown> };
      await Promise.all(
        names.map((one) => store.createPod(job, { ...like, metadata: { ...like.metadata, name: one } })),
      );
      world.blind();
      await Promise.all(names.slice(1).map((one) => world.others.annotate('Pod', one, bareOfLabels)));
      await world.others.delete('Pod', names[0] ?? '');
      await readLive();
      expect(
        store
          .podsOf(job)
          .map((pod) => [pod.name, pod.ours, pod.podIndex])
          .toSorted(),
      ).toEqual(
        names
          .slice(1)
          .map((one, index) => [one, true, index + 1])
          .toSorted(),
      );
    });

    it('of another job is not shown', async () => {
      const rival = await submit('rival');
      await madePod();
      expect(store.podsOf(rival)).toEqual([]);
    });
  });

  it('shows by a live read a job that somebody edited, and none where it is gone or another has its name', async () => {
    world.blind();
    await world.others.annotate('TrainingJob', 'tiny', { annotations: { edited: 'yes' } });
    await readLive();
    expect(newest()?.metadata.annotations).toEqual({ edited: 'yes' });
    await replaceUnseen('TrainingJob', 'tiny', aJob('tiny'));
    await readLive();
    expect(newest()?.metadata.uid).not.toBe(job.metadata.uid);
  });

  it('tells ready nodes from those that are not and from those that do not exist, heard of or not', async () => {
    const known = await world.others.node({ ready: true });
    world.blind();
    const unheard = await world.others.node({ ready: true });
    const lost = await world.others.node({ ready: false });
    expect(await readLive({ nodes: [known, unheard, lost, 'nowhere'] })).toEqual(
      new Map([
        [known, 'ready'],
        [unheard, 'ready'],
        [lost, 'notReady'],
        ['nowhere', 'gone'],
      ]),
    );
  });

  describe('a checkpoint', () => {
    it('is complete and shown at once, made once when it is made twice, and outlives its job', async () => {
      world.blind();
      await store.createCheckpoint(job, checkpoint());
      const [first] = store.checkpointsOf(job);
      await store.createCheckpoint(job, checkpoint());
      expect(store.checkpointsOf(job)).toEqual([first]);
      expect(first).toMatchObject({ status: { state: 'Complete' }, spec: { jobUid: job.metadata.uid } });
      expect((await world.others.get('Checkpoint', checkpoint().name))?.metadata.ownerReferences).toBeUndefined();
    });

    it('that was left without a status, by a crash in between, is completed', async () => {
      await world.others.create('Checkpoint', theirs());
      await store.createCheckpoint(job, checkpoint());
      expect(store.checkpointsOf(job)).toMatchObject([{ status: { state: 'Complete' } }]);
    });

    it('that is damaged stays so, however often it is reported', async () => {
      await store.createCheckpoint(job, checkpoint());
      const [made] = store.checkpointsOf(job);
      const damaged = { state: 'Damaged', message: 'a file is cut off', condemnation: CUT_OFF };
      const reference = { name: checkpoint().name, uid: made?.metadata.uid ?? '' };
      await store.markCheckpointDamaged(job, { ...reference, message: damaged.message, condemnation: CUT_OFF });
      expect(store.checkpointsOf(job)).toMatchObject([{ status: damaged }]);
      await store.createCheckpoint(job, checkpoint());
      expect(store.checkpointsOf(job)).toMatchObject([{ status: damaged }]);
    });

    it('that is suspect is shown at once, stays so when it is reported again, and can be complete again', async () => {
      await store.createCheckpoint(job, checkpoint());
      const [made] = store.checkpointsOf(job);
      const reference = { name: checkpoint().name, uid: made?.metadata.uid ?? '' };
      const suspect = { state: 'Complete', message: 'It is suspect.', suspect: UNREADABLE } as const;
      await store.markCheckpoint(job, { ...reference, status: suspect });
      await store.createCheckpoint(job, checkpoint());
      expect(store.checkpointsOf(job)).toMatchObject([{ status: suspect }]);
      await store.markCheckpoint(job, { ...reference, status: { state: 'Complete' } });
      expect(store.checkpointsOf(job).map(({ status }) => status)).toEqual([{ state: 'Complete' }]);
    });

    it('that is damaged can be complete again, which leaves nothing of its condemnation', async () => {
      await store.createCheckpoint(job, checkpoint());
      const [made] = store.checkpointsOf(job);
      const reference = { name: checkpoint().name, uid: made?.metadata.uid ?? '' };
      await store.markCheckpointDamaged(job, { ...reference, message: 'x', condemnation: CUT_OFF });
      await store.markCheckpoint(job, { ...reference, status: { state: 'Complete' } });
      expect(store.checkpointsOf(job).map(({ status }) => status)).toEqual([{ state: 'Complete' }]);
    });

    it('keeps what its bytes say, whatever else is found about it', async () => {
      await store.createCheckpoint(job, { ...checkpoint(), verification: SOUND });
      const [made] = store.checkpointsOf(job);
      const reference = { name: checkpoint().name, uid: made?.metadata.uid ?? '' };
      const seen = [made?.status];
      await store.markCheckpointDamaged(job, { ...reference, message: 'x', condemnation: CUT_OFF });
      seen.push(store.checkpointsOf(job)[0]?.status);
      await store.markCheckpoint(job, { ...reference, status: { state: 'Complete' } });
      seen.push(store.checkpointsOf(job)[0]?.status);
      expect(seen.map((status) => [status?.state, status?.verification])).toEqual([
        ['Complete', SOUND],
        ['Damaged', SOUND],
        ['Complete', SOUND],
      ]);
    });

    it('is deleted by its UID, and is gone when it is deleted twice', async () => {
      await store.createCheckpoint(job, checkpoint());
      const [made] = store.checkpointsOf(job);
      await store.deleteCheckpoint(job, { name: checkpoint().name, uid: 'of-a-predecessor' });
      expect(await world.others.get('Checkpoint', checkpoint().name)).toBeDefined();
      const reference = { name: checkpoint().name, uid: made?.metadata.uid ?? '' };
      await store.deleteCheckpoint(job, reference);
      expect(await world.others.get('Checkpoint', checkpoint().name)).toBeUndefined();
      expect(store.checkpointsOf(job)).toEqual([]);
      await store.deleteCheckpoint(job, reference);
    });

    it('that has changed since it was looked at stays, and is shown as it is now', async () => {
      await store.createCheckpoint(job, checkpoint());
      const [seen] = store.checkpointsOf(job);
      const { uid = '', resourceVersion = '' } = seen?.metadata ?? {};
      world.blind();
      const damaged = { name: checkpoint().name, uid, message: 'a file is cut off', condemnation: CUT_OFF };
      await store.markCheckpointDamaged(job, damaged);
      await store.deleteCheckpoint(job, { name: checkpoint().name, uid, resourceVersion });
      expect(store.checkpointsOf(job)).toMatchObject([{ status: { state: 'Damaged' } }]);
    });

    it('whose name another job has taken is an error, and that one is left as it is', async () => {
      const existing = await world.others.create('Checkpoint', theirs({ jobUid: 'another' }));
      await expect(store.createCheckpoint(job, checkpoint())).rejects.toThrow(/another job/);
      expect(await world.others.get('Checkpoint', checkpoint().name)).toEqual(existing);
    });
  });

  it('writes nothing while this process does not lead', async () => {
    await store.createCheckpoint(job, checkpoint());
    await store.createPlacement(job, placement());
    const pod = await madePod();
    await store.addFinalizer(job);
    const current = newest() ?? job;
    const uidOf = (object: Checkpoint | { metadata: { uid?: string } } | undefined): string =>
      object?.metadata.uid ?? '';
    const before = await everything();
    world.lead(false);
    const writes: readonly (() => Promise<unknown>)[] = [
      () => store.writeStatus(current, QUEUED),
      () => store.addFinalizer({ ...current, metadata: { ...current.metadata, finalizers: [] } }),
      () => store.removeFinalizer(current),
      () => store.createPlacement(job, placement(2)),
      () => store.deletePlacement(job, { name: placement().name, uid: uidOf(store.placementsOf(job)[0]) }),
      () => store.createPod(job, ourPod()),
      () => store.liftGate(job, pod),
      () => store.releasePod(job, pod),
      () => store.deletePod(job, { ...pod, gracePeriodSeconds: 0 }),
      () => store.createCheckpoint(job, { ...checkpoint(), name: 'another' }),
      () => store.deleteCheckpoint(job, { name: checkpoint().name, uid: uidOf(store.checkpointsOf(job)[0]) }),
      () =>
        store.markCheckpointDamaged(job, {
          name: checkpoint().name,
          uid: uidOf(store.checkpointsOf(job)[0]),
          message: 'x',
          condemnation: CUT_OFF,
        }),
      () =>
        store.markCheckpoint(job, {
          name: checkpoint().name,
          uid: uidOf(store.checkpointsOf(job)[0]),
          status: { state: 'Complete', suspect: UNREADABLE },
        }),
    ];
    for (const write of writes) expect(await rejection(write())).toBeInstanceOf(NotLeadingError);
    expect(await everything()).toEqual(before);
    world.lead(true);
    await store.removeFinalizer(current);
  });

  const everything = async (): Promise<readonly unknown[]> => {
    const objects = await Promise.all([
      world.others.get('TrainingJob', 'tiny'),
      world.others.get('Placement', placement().name),
      world.others.get('Placement', placement(2).name),
      world.others.get('Pod', name()),
      world.others.get('Checkpoint', checkpoint().name),
      world.others.get('Checkpoint', 'another'),
    ]);
    return objects.map((object) => {
      const { metadata, spec, status } = (object ?? {}) as Partial<TrainingJob>;
      // A scheduler may write a pod's status at any moment.
      const state = object?.kind === 'Pod' ? undefined : status;
      return [metadata?.uid, metadata?.finalizers, metadata?.deletionTimestamp, spec, state];
    });
  };
}

/** Only the keys of its labels are asked for. */
const job0 = aTrainingJob();

interface Gated {
  readonly schedulingGates?: readonly { readonly name: string }[];
}

const QUEUED = { state: 'Queued', epoch: 0, restarts: { total: 0, charged: 0 } } as const;
const GATED = { schedulingGates: [{ name: SCHEDULING_GATE }] };

async function rejection(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}
