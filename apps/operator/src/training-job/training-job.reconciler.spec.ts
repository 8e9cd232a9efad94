import { FINALIZER, type TrainingJob, type TrainingJobStatus } from '@coxswain/api-types';
import { aPlacement } from '@coxswain/lifecycle/testing';
import { KubeApiError, NotLeadingError, type KubeObject } from '@coxswain/kube';
import { ReconcilerWorld } from './testing/reconciler-world.ts';

const anAnswer = (status: number, reason: string, message = reason): KubeApiError =>
  new KubeApiError({ status, reason, message });

/** Lets the first write that matches fail with `error`, before it is done or when its answer is on its way. */
function failOnce(world: ReconcilerWorld, what: RegExp, failure: { error: Error; moment?: 'before' | 'after' }): void {
  const { error, moment = 'before' } = failure;
  world.onWrite = (write) => {
    if (write.moment !== moment || !what.test(write.what)) return;
    world.onWrite = () => undefined;
    throw error;
  };
}

const verbsOf = (world: ReconcilerWorld): readonly string[] => world.writes.map((what) => what.split(' ')[0] ?? '');

describe('one reconcile of a new job', () => {
  it('writes each intent before its effect, and goes on until the gang is released', async () => {
    const world = new ReconcilerWorld();
    await world.reconcile();
    expect(verbsOf(world)).toEqual([
      'writeStatus',
      'addFinalizer',
      'writeStatus',
      'createPlacement',
      'createPod',
      'createPod',
      'writeStatus',
      'liftGate',
      'liftGate',
    ]);
  });

  it('makes both pods before it lifts a gate, and every gate after the release is recorded', async () => {
    const world = new ReconcilerWorld();
    const stages: (string | undefined)[] = [];
    world.onWrite = ({ what, moment }) => {
      if (moment === 'before' && what.startsWith('liftGate')) stages.push(world.job.status?.attempts?.[0]?.stage);
    };
    await world.reconcile();
    expect(stages).toEqual(['Released', 'Released']);
  });

  it('finds nothing to do when it is repeated', async () => {
    const world = new ReconcilerWorld();
    await world.reconcile();
    const before = world.picture();
    world.writes.length = 0;
    await world.reconcile();
    expect([world.writes, world.picture()]).toEqual([[], before]);
  });

  it('announces what was recorded, and only then', async () => {
    const world = new ReconcilerWorld();
    failOnce(world, /^writeStatus/, { error: anAnswer(503, 'ServiceUnavailable') });
    await expect(world.reconcile()).rejects.toThrow('ServiceUnavailable');
    expect(world.announced).toEqual([]);
    await world.reconcile();
    expect(world.announced).not.toEqual([]);
  });
});

it('does nothing for a job that does not exist', async () => {
  const world = new ReconcilerWorld();
  expect(await world.reconciler.reconcile('research/nobody')).toEqual({});
  expect(world.writes).toEqual([]);
});

describe('a job that changes while it is looked at', () => {
  it('is looked at again after a conflict, and what somebody wrote meanwhile stays', async () => {
    const world = new ReconcilerWorld();
    world.onWrite = () => {
      world.onWrite = () => undefined;
      world.edit((job) => ({ ...job, spec: { ...job.spec, suspend: true } }));
    };
    await world.reconcile();
    expect(world.job).toMatchObject({ spec: { suspend: true }, status: { state: 'Suspended' } });
    expect(world.pods).toEqual([]);
  });

  it('is left alone when another job takes its name while it is read live: the proof was of the other', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    const { apiVersion, kind, spec, metadata } = world.job;
    const [lost] = world.pods;
    world.vanish(`research/${lost?.metadata.name}`);
    const read = world.store.readLive.bind(world.store);
    world.store.readLive = async (...what) => {
      world.edit((job) => ({ ...job, metadata: { ...job.metadata, finalizers: [] } }));
      world.cluster.delete('TrainingJob', world.key);
      const { name, namespace } = metadata;
      world.cluster.create('TrainingJob', { apiVersion, kind, metadata: { name, namespace }, spec });
      return read(...what);
    };
    world.writes.length = 0;
    expect(await world.reconcile()).toEqual({});
    expect([world.writes, world.job.status, world.job.metadata.finalizers]).toEqual([[], undefined, undefined]);
  });

  it('comes back behind the others when every pass finds something to do', async () => {
    const world = new ReconcilerWorld();
    world.onWrite = ({ moment }) => {
      if (moment === 'after') world.edit(({ status: _forgotten, ...job }) => job);
    };
    expect(await world.reconcile()).toEqual({ requeueAfterMs: 1_000 });
    expect(verbsOf(world)).toEqual(Array.from({ length: 16 }, () => 'writeStatus'));
  });
});

describe('a status that the API server refuses', () => {
  const invalid = anAnswer(422, 'Invalid', 'status: Invalid value');
  /** From now on every status that `isRefused` says so of is refused; answers with what was written. */
  const refuse = (world: ReconcilerWorld, isRefused: (status: TrainingJobStatus) => boolean): TrainingJobStatus[] => {
    const written: TrainingJobStatus[] = [];
    const write = world.store.writeStatus.bind(world.store);
    world.store.writeStatus = async (job, status) => {
      if (isRefused(status)) throw invalid;
      written.push(status);
      return write(job, status);
    };
    return written;
  };
  const hasTexts = ({ conditions = [] }: TrainingJobStatus): boolean =>
    conditions.some(({ message }) => message !== '');

  it('for its texts is written without them, once, and the job goes on; people are told why', async () => {
    const world = new ReconcilerWorld();
    const written = refuse(world, hasTexts);
    await world.live(({ epoch }) => (epoch === 1 ? 1 : 0));
    expect(world.job.status).toMatchObject({ state: 'Complete', epoch: 2, restarts: { total: 1 } });
    expect(new Set(written.map((status) => JSON.stringify(status))).size).toBe(written.length);
    expect(world.job.status?.summary).toMatch(/refused/);
    expect(world.warnings[0]).toMatch(/status of the job cannot be written as it is: status: Invalid value/);
  });

  it('gets its texts back with the next change that is not refused', async () => {
    const world = new ReconcilerWorld();
    let isStrict = true;
    refuse(world, (status) => isStrict && hasTexts(status));
    await world.live();
    isStrict = false;
    await world.live(() => 0);
    expect(world.job.status?.conditions?.find(({ type }) => type === 'Complete')?.message).toMatch(/finished/);
  });

  it('in every form stops what would stand on it, and harms nothing', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    refuse(world, () => true);
    world.edit((job) => ({ ...job, spec: { ...job.spec, suspend: true } }));
    world.writes.length = 0;
    await expect(world.reconcile()).rejects.toBe(invalid);
    expect([world.writes, world.pods.length]).toEqual([[], 2]);
  });

  it('in every form does not hold a job that is deleted: its pods go, and when none computes any more, it goes', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    refuse(world, () => true);
    world.cluster.delete('TrainingJob', world.key);
    await expect(world.reconcile()).rejects.toBe(invalid);
    expect(world.pods.map(({ metadata }) => metadata.deletionTimestamp)).not.toContain(undefined);
    expect(world.job.metadata.finalizers).not.toEqual([]);
    world.turn();
    await world.reconcile();
    expect(world.store.findJob(world.key)).toBeUndefined();
  });
});

describe('GPUs reserved for a placement', () => {
  const heldFor = (world: ReconcilerWorld): number => {
    return [...world.scheduler.capacityFor('rival').usedGpus.values()].reduce((sum, gpus) => sum + gpus, 0);
  };

  it('are held while the placement is being recorded, and counted once when it is', async () => {
    const world = new ReconcilerWorld();
    const held: number[] = [];
    world.onWrite = ({ what, moment }) => {
      if (what.startsWith('createPlacement') && moment === 'before') held.push(heldFor(world));
    };
    await world.reconcile();
    expect([...held, heldFor(world)]).toEqual([4, 4]);
  });

  it('stay held when the answer to the placement is lost, until the job is stopped', async () => {
    const world = new ReconcilerWorld();
    failOnce(world, /^createPlacement/, { error: anAnswer(503, 'ServiceUnavailable') });
    await expect(world.reconcile()).rejects.toThrow('ServiceUnavailable');
    expect(heldFor(world)).toBe(4);
    world.edit((job) => ({ ...job, spec: { ...job.spec, suspend: true } }));
    await world.reconcile();
    expect(heldFor(world)).toBe(0);
  });

  it('stay held when the answer to the record of the placement is lost, and are used by the look that finds it', async () => {
    const world = new ReconcilerWorld();
    world.edit((job) => ({ ...job, metadata: { ...job.metadata, finalizers: [FINALIZER] } }));
    world.onWrite = ({ what, moment }) => {
      if (!what.startsWith('writeStatus') || moment === 'before' || world.job.status?.epoch !== 1) return;
      world.onWrite = () => undefined;
      throw anAnswer(503, 'ServiceUnavailable');
    };
    await expect(world.reconcile()).rejects.toThrow('ServiceUnavailable');
    expect(heldFor(world)).toBe(4);
    await world.reconcile();
    expect([world.pods.length, world.job.status?.epoch, heldFor(world)]).toEqual([2, 1, 4]);
  });

  it('of another job are not given away', async () => {
    const world = new ReconcilerWorld();
    const { apiVersion, kind, metadata, spec } = world.job;
    const { namespace } = metadata;
    const rival = world.cluster.create<TrainingJob & KubeObject>('TrainingJob', {
      apiVersion,
      kind,
      metadata: { name: 'rival', namespace },
      spec,
    });
    const { version } = world.scheduler.capacityFor(rival.metadata.uid);
    expect(world.scheduler.reserve(aPlacement(rival).spec, version)).toBe(true);
    await world.reconcile();
    const placed = world.job.status?.conditions?.find(({ type }) => type === 'Placed');
    expect([placed?.status, placed?.reason, world.pods]).toEqual(['False', 'WaitingForCapacity', []]);
  });
});

describe('a pod that the cluster refuses for good', () => {
  it('is told in the cluster’s words in the status of the job, and nobody has to read a log', async () => {
    const world = new ReconcilerWorld();
    const quota = 'pods "a" is forbidden: exceeded quota: gpus, requested: 2, used: 8, limited: 8';
    world.onWrite = ({ what, moment }) => {
      if (moment === 'before' && what.startsWith('createPod')) throw anAnswer(403, 'Forbidden', quota);
    };
    await world.live();
    expect(JSON.stringify(world.job.status)).toContain('exceeded quota: gpus, requested: 2, used: 8, limited: 8');
    expect(world.pods).toEqual([]);
  });
});

describe('a gang of which the cluster would take no pod', () => {
  const quota = anAnswer(403, 'Forbidden', 'pods "a" is forbidden: exceeded quota: gpus');
  const refusing = (): { readonly world: ReconcilerWorld; readonly probes: string[] } => {
    const world = new ReconcilerWorld();
    const probes: string[] = [];
    world.onProbe = (name) => {
      probes.push(name);
      throw quota;
    };
    return { world, probes };
  };

  it('begins no epoch: one dry run, whose words are in status and are told', async () => {
    const { world, probes } = refusing();
    await world.reconcile();
    const placed = world.job.status?.conditions?.find(({ type }) => type === 'Placed');
    expect([probes.length, world.job.status?.epoch, world.pods]).toEqual([1, 0, []]);
    expect(placed).toMatchObject({ status: 'False', reason: 'PodsRefused' });
    expect([placed?.message, world.job.status?.summary, ...world.warnings].join()).toMatch(
      /(exceeded quota: gpus.*){3}/,
    );
  });

  it('is tried again every 30 s with nothing written, and begins when the cluster takes it', async () => {
    const { world, probes } = refusing();
    await world.reconcile();
    world.writes.length = 0;
    for (let look = 0; look < 5; look += 1) expect(await world.reconcile()).toEqual({ requeueAfterMs: 30_000 });
    expect([probes.length, world.writes]).toEqual([6, []]);
    world.onProbe = () => undefined;
    await world.live();
    expect(world.job.status).toMatchObject({ state: 'Running', epoch: 1, restarts: { total: 0 } });
  });
});

it('asks once more where the cluster refuses the pods of a gang after all, not once for each', async () => {
  const world = new ReconcilerWorld();
  world.onWrite = ({ what, moment }) => {
    if (moment === 'before' && what.startsWith('createPod')) throw anAnswer(403, 'Forbidden', 'exceeded quota: gpus');
  };
  await world.reconcile();
  expect(verbsOf(world).filter((verb) => verb === 'createPod')).toHaveLength(1);
});

describe('an action that fails', () => {
  const rbac = 'pods is forbidden: User "operator" cannot create resource "pods"';
  it.each([
    ['the server is away', anAnswer(0, 'ConnectionFailed'), false],
    ['the server is busy', anAnswer(429, 'TooManyRequests'), false],
    ['the server has a fault', anAnswer(500, 'InternalError'), false],
    ['another write came first', anAnswer(409, 'Conflict'), false],
    ['another replica leads', new NotLeadingError('another replica leads'), false],
    ['the installation lacks a right', anAnswer(403, 'Forbidden', rbac), true],
    ['the name belongs to somebody else', new Error('Placement x exists and is not of this job'), true],
  ])('because %s is tried again by the queue; people are warned: %s', async (_why, error, isWarned) => {
    const world = new ReconcilerWorld();
    failOnce(world, /^createPod/, { error });
    await expect(world.reconcile()).rejects.toBe(error);
    expect(world.warnings).toEqual(isWarned ? [error.message] : []);
    await world.live();
    expect(world.job.status?.state).toBe('Running');
  });

  it('ends the pass: what comes after it in order is not done', async () => {
    const world = new ReconcilerWorld();
    failOnce(world, /^addFinalizer/, { error: anAnswer(503, 'ServiceUnavailable') });
    await expect(world.reconcile()).rejects.toThrow('ServiceUnavailable');
    expect(verbsOf(world).filter((verb) => verb === 'createPlacement')).toEqual([]);
  });
});

describe('a gang that lost a pod', () => {
  it('is told to end, and starts again in a new epoch, once a live read has confirmed that the pod is missing', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    expect(world.job.status).toMatchObject({ state: 'Running', epoch: 1 });
    const [lost] = world.pods;
    world.cluster.delete('Pod', `research/${lost?.metadata.name}`, { gracePeriodSeconds: 0 });
    await world.live();
    expect(world.job.status).toMatchObject({ state: 'Running', epoch: 2, restarts: { total: 1 } });
    expect(world.refused).toEqual([1]);
  });

  it('deletes the survivors by UID before it makes new pods', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    world.writes.length = 0;
    await world.live(({ epoch, podIndex }) => (epoch === 1 && podIndex === 1 ? 1 : 'runs'));
    const verbs = verbsOf(world).filter((verb) => ['deletePod', 'createPlacement', 'createPod'].includes(verb));
    expect(verbs.join(' ')).toMatch(/^(deletePod )+createPlacement (createPod ?){2}$/);
  });
});

describe('a job that is deleted', () => {
  it('keeps its finalizer until its pods are gone, and then nothing is left', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    world.cluster.delete('TrainingJob', world.key);
    await world.reconcile();
    expect(world.job.metadata.deletionTimestamp).toBeDefined();
    world.turn();
    await world.reconcile();
    expect(world.store.findJob(world.key)).toBeUndefined();
  });
});

describe('pods of a job with priority class urgent', () => {
  const urgent = { name: 'urgent', value: 1000, isDefault: false, neverPreempts: false };
  const ofPods = { ...urgent, name: 'urgent-never-preempts', neverPreempts: true };
  it.each<[string, ReconcilerWorld['priorityClasses'], unknown]>([
    ['carry the class that never preempts', [urgent, ofPods], 'urgent-never-preempts'],
    ['carry none if there is no such class, and run', [urgent], undefined],
  ])('%s', async (_sentence, classes, want) => {
    const world = new ReconcilerWorld({ priorityClassName: 'urgent' });
    world.priorityClasses = classes;
    await world.live();
    expect(world.job.status).toMatchObject({ state: 'Running', priority: { className: 'urgent', value: 1000 } });
    expect(world.pods.map(({ spec }) => (spec as { priorityClassName?: string }).priorityClassName)).toEqual([
      want,
      want,
    ]);
  });
});
