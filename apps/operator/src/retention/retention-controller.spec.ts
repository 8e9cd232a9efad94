// A little over 400 lines: one table of stories, each with its own cluster.
import {
  ANNOTATIONS,
  type Checkpoint,
  type CheckpointRetention,
  type DeletionAnswer,
  LABELS,
  type TrainingJob,
} from '@coxswain/api-types';
import { aTrainingJob, aVerification } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import type { KubeObject } from '@coxswain/kube';
import { FakeKubeApi } from '@coxswain/kube/testing';
import { checkpointsPath, claimsPath, podsPath, runtimePath, trainingJobsPath } from '../cluster/paths.ts';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { RetentionController } from './retention-controller.ts';

const namespace = 'research';
const KEEP_ONE: CheckpointRetention = { keepNewestVerified: 1 };
const V2 = aVerification({ level: 'V2', by: 'Worker' });
const DELETED: DeletionAnswer = { version: 1, outcome: 'Deleted', files: 4 };

interface RawPod extends KubeObject {
  readonly spec: {
    readonly automountServiceAccountToken: boolean;
    readonly containers: readonly {
      readonly command: readonly string[];
      readonly env?: readonly object[];
      readonly securityContext: unknown;
      readonly volumeMounts: readonly { readonly name: string }[];
    }[];
    readonly volumes: readonly unknown[];
  };
}

class World {
  readonly script = new CacheScript();
  readonly api = new FakeKubeApi();
  readonly errors: unknown[] = [];
  readonly events: string[] = [];
  controller = this.#another();

  #another(): RetentionController {
    return new RetentionController({
      client: this.api,
      cache: this.script.cache,
      clock: this.script.clock,
      pods: { launcherImage: 'launcher', user: 1000 },
      announce: (_regarding, reason, { note }) => this.events.push(`${reason}: ${note}`),
      onError: (error) => this.errors.push(error),
    });
  }

  /** Another replica leads. */
  fail(): void {
    this.controller = this.#another();
  }

  async job(retention?: CheckpointRetention, more: Partial<TrainingJob['spec']> = {}): Promise<void> {
    const made = aTrainingJob();
    const checkpoint = { ...made.spec.checkpoint, ...(retention === undefined ? {} : { retention }) };
    await this.api.create(trainingJobsPath({ namespace }), { ...made, spec: { ...made.spec, checkpoint, ...more } });
    // The fake gives its own UID.
    const [job] = this.api.objects<TrainingJob & KubeObject>(trainingJobsPath());
    this.script.cache.jobs.cached.upsert(job as TrainingJob & KubeObject);
  }

  get jobUid(): string {
    return this.api.objects(trainingJobsPath())[0]?.metadata.uid ?? 'gone';
  }

  async save(
    step: number,
    status: Partial<NonNullable<Checkpoint['status']>> = {},
    spec: Partial<Checkpoint['spec']> = {},
  ): Promise<void> {
    const { jobUid } = this;
    const path = `tiny-gpt-${jobUid.slice(0, 8)}/epoch-1/step-${step}`;
    const made = aCheckpoint({ step, jobUid, path, ...spec });
    await this.api.create(checkpointsPath({ namespace }), {
      ...made,
      metadata: { name: made.metadata.name, namespace },
      status: { state: 'Complete', verification: V2, ...status },
    });
    this.see();
  }

  /** The watch brings what the server holds. */
  see(): void {
    const { cached } = this.script.cache.checkpoints;
    const there = this.api.objects<Checkpoint & KubeObject>(checkpointsPath());
    for (const one of cached.list())
      if (!there.some(({ metadata }) => metadata.uid === one.metadata.uid)) cached.remove(one);
    for (const one of there) cached.upsert(one);
  }

  async reconcile(): Promise<void> {
    await this.controller.reconcile().catch((error: unknown) => this.errors.push(error));
    this.see();
  }

  /** From the decision to the pod. */
  async order(): Promise<void> {
    await this.reconcile();
    await this.script.clock.advance(61_000);
    await this.reconcile();
  }

  get pods(): readonly RawPod[] {
    return this.api.objects<RawPod>(podsPath()).filter(({ metadata }) => metadata.labels?.[LABELS.worker] === 'delete');
  }

  /** The kubelet reports how the pod ended. */
  async ends(answer: unknown, phase = 'Succeeded'): Promise<void> {
    const name = this.pods[0]?.metadata.name ?? '';
    const message = typeof answer === 'string' ? answer : JSON.stringify(answer);
    const status = { phase, containerStatuses: [{ state: { terminated: { message, reason: 'Completed' } } }] };
    await this.api.patch(podsPath({ namespace, name }), { status }, { type: 'merge' });
    await this.reconcile();
  }

  checkpoint(step: number): (Checkpoint & KubeObject) | undefined {
    return this.api.objects<Checkpoint & KubeObject>(checkpointsPath()).find(({ spec }) => spec.step === step);
  }

  async change(step: number, change: object): Promise<void> {
    const { name = '' } = this.checkpoint(step)?.metadata ?? {};
    await this.api.patch(checkpointsPath({ namespace, name }), change, { type: 'merge' });
  }
}

async function two(retention: CheckpointRetention | 'none' = KEEP_ONE): Promise<World> {
  const world = new World();
  await world.job(retention === 'none' ? undefined : retention);
  await world.save(10);
  await world.save(20);
  return world;
}

describe('a save that the policy does not keep', () => {
  it('is first of no use to any release, then its files go, and then its object', async () => {
    const world = await two();
    await world.reconcile();
    expect(world.checkpoint(10)?.status).toMatchObject({
      state: 'Damaged',
      message: expect.stringMatching(/^Deleting: /) as string,
      deletion: { stateBefore: 'Complete' },
    });
    expect(world.checkpoint(20)?.status).toMatchObject({ state: 'Complete', retention: { action: 'Keep' } });
    expect(world.pods).toEqual([]);
    await world.order();
    expect(world.checkpoint(10)?.status?.deletion?.startedAt).toBeDefined();
    await world.ends(DELETED);
    expect([world.checkpoint(10), world.pods, world.errors]).toEqual([undefined, [], []]);
    expect(world.events).toEqual([
      expect.stringMatching(
        /^CheckpointDeleted: Checkpoint .*-s10 of step 10 is deleted with 4 files\. The newest 1 verified/,
      ),
    ]);
  });

  it('is deleted by a pod that may write to its folder alone', async () => {
    const world = await two();
    await world.order();
    const [pod] = world.pods;
    const path = world.checkpoint(10)?.spec.path;
    expect(pod?.metadata.ownerReferences).toMatchObject([{ kind: 'Checkpoint' }]);
    expect(pod?.spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          command: [expect.anything(), 'delete-checkpoint', expect.stringContaining('step-20')],
          securityContext: {
            readOnlyRootFilesystem: true,
            runAsNonRoot: true,
            runAsUser: 1000,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    });
    expect(pod?.spec.containers[0]?.volumeMounts.filter(({ name }) => name === 'coxswain-checkpoints')).toEqual([
      { name: 'coxswain-checkpoints', mountPath: '/coxswain/checkpoints', readOnly: true },
      { name: 'coxswain-checkpoints', mountPath: '/coxswain/save', subPath: path },
    ]);
  });

  it('in a bucket is deleted by a pod that mounts no claim and has the credentials of the job', async () => {
    const world = new World();
    const bucket = { uri: 's3://training/runs', credentialsSecret: 'job-bucket' };
    await world.job(KEEP_ONE);
    for (const step of [10, 20]) await world.save(step, {}, { claimName: '', bucket });
    await world.order();
    const [pod] = world.pods;
    const [container] = pod?.spec.containers ?? [];
    expect(JSON.parse(container?.command[2] ?? '')).toMatchObject({
      isInBucket: true,
      save: { path: world.checkpoint(10)?.spec.path },
      survivors: [{ path: world.checkpoint(20)?.spec.path }],
    });
    expect([JSON.stringify(pod?.spec.volumes), container?.env]).toEqual([
      expect.not.stringContaining('persistentVolumeClaim'),
      expect.arrayContaining([
        { name: 'COXSWAIN_CHECKPOINT_BUCKET', value: JSON.stringify({ uri: 's3://training/runs' }) },
        ...['COXSWAIN_CHECKPOINT_BUCKET_KEY_ID', 'COXSWAIN_CHECKPOINT_BUCKET_KEY'].map(
          (name) => expect.objectContaining({ name, valueFrom: expect.anything() as object }) as object,
        ),
      ]),
    ]);
    await world.ends(DELETED);
    expect([world.checkpoint(10), world.errors]).toEqual([undefined, []]);
  });

  it.each<[what: string, change: (world: World) => Promise<void>]>([
    ['a user pins it', (world) => world.change(10, { metadata: { annotations: { [ANNOTATIONS.pin]: 'wait' } } })],
    [
      'the newer save is found damaged',
      (world) => world.change(20, { status: { verification: { ...V2, verdict: 'damaged' } } }),
    ],
    [
      'a user names it in spec.resumeFrom',
      async (world) => {
        const path = trainingJobsPath({ namespace, name: 'tiny-gpt' });
        await world.api.patch(
          path,
          { spec: { resumeFrom: { from: world.checkpoint(10)?.metadata.name } } },
          { type: 'merge' },
        );
      },
    ],
    [
      'the policy is removed',
      async (world) => {
        const path = trainingJobsPath({ namespace, name: 'tiny-gpt' });
        await world.api.patch(path, { spec: { checkpoint: { retention: null } } }, { type: 'merge' });
      },
    ],
  ])('is what it was if %s before its deletion starts, though no watch has brought that', async (_what, change) => {
    const world = await two();
    await world.reconcile();
    await change(world);
    await world.script.clock.advance(61_000);
    await world.controller.reconcile();
    expect(world.checkpoint(10)?.status).toMatchObject({ state: 'Complete', retention: { action: 'Keep' } });
    expect([world.checkpoint(10)?.status?.deletion, world.checkpoint(10)?.status?.message, world.pods]).toEqual([
      undefined,
      undefined,
      [],
    ]);
  });

  it('is what it was if its worker kept it, and is decided again in an hour', async () => {
    const world = await two();
    await world.order();
    await world.ends({ version: 1, outcome: 'Kept', why: 'its manifest is another one' });
    expect(world.checkpoint(10)?.status).toMatchObject({
      state: 'Complete',
      retention: {
        because: 'Its deletion was taken back: its manifest is another one. It is decided again in an hour.',
      },
    });
    await world.order();
    expect(world.pods).toEqual([]);
    await world.script.clock.advance(3_600_000);
    await world.order();
    expect(world.pods).toHaveLength(1);
  });

  it('stays if the save that is to survive it is gone, and that one counts as gone and not as damaged', async () => {
    const world = await two();
    await world.order();
    await world.ends({ version: 1, outcome: 'Kept', why: 'step-20 has no files', absent: [0] });
    expect(world.checkpoint(20)?.status).toMatchObject({
      state: 'Complete',
      absent: { since: expect.any(String) as string },
    });
    await world.order();
    expect([world.checkpoint(10)?.status?.state, world.pods]).toEqual(['Complete', []]);
    // Once another one is verified, both go, and only the files of the first are mounted.
    await world.save(30);
    await world.order();
    await world.ends(DELETED);
    await world.reconcile();
    const mounts = world.pods[0]?.spec.containers[0]?.volumeMounts.filter(
      ({ name }) => name === 'coxswain-checkpoints',
    );
    expect([world.checkpoint(10), mounts?.length]).toEqual([undefined, 1]);
    await world.ends(DELETED);
    expect(world.checkpoint(20)).toBeUndefined();
  });

  it.each<[what: string, answer: unknown, problem: RegExp]>([
    ['says nothing', '', /ended without an answer \(Completed\)/],
    ['lies about its form', { version: 2, outcome: 'Deleted' }, /ended without an answer/],
    ['says more than a kubelet passes on', { ...DELETED, why: 'x'.repeat(5000) }, /ended without an answer/],
    ['could not complete it', { version: 1, outcome: 'Unfinished', why: 'EIO' }, /^EIO$/],
  ])('stays unusable if its worker %s, and another worker goes on', async (_what, answer, problem) => {
    const world = await two();
    await world.order();
    await world.ends(answer);
    expect(world.checkpoint(10)?.status).toMatchObject({
      state: 'Damaged',
      deletion: { problem: expect.stringMatching(problem) as string },
    });
    expect(world.pods).toEqual([]);
    await world.script.clock.advance(3_600_001);
    await world.reconcile();
    await world.ends(DELETED);
    expect(world.checkpoint(10)).toBeUndefined();
  });

  it('stays usable while its claim is mounted by one other pod alone', async () => {
    const world = await two();
    const job = world.script.cache.jobs.all()[0];
    if (job !== undefined) world.script.pod('trainer', { job, nodeName: 'node-a' });
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'checkpoints', namespace } };
    await world.api.create(claimsPath({ namespace }), { ...claim, spec: { accessModes: ['ReadWriteOncePod'] } });
    await world.order();
    expect([world.pods, world.checkpoint(10)?.status?.deletion]).toMatchObject([
      [],
      { problem: expect.stringMatching(/mounted on node-a/) as string },
    ]);
  });
});

describe('without a policy', () => {
  it('nothing is asked, and nothing changes', async () => {
    const world = await two('none');
    const asked: string[] = [];
    world.api.interfere = ({ verb }) => void asked.push(verb);
    await world.order();
    expect([asked, world.checkpoint(10)?.status?.retention]).toEqual([[], undefined]);
  });
});

it('follows the policy of the runtime where the job has none', async () => {
  const world = new World();
  const runtimeRef = { kind: 'TrainingRuntime' as const, name: 'mine' };
  const path = runtimePath({ ...runtimeRef, namespace });
  await world.api.create(path.slice(0, path.lastIndexOf('/')), {
    apiVersion: 'training.coxswain.dev/v1alpha1',
    kind: 'TrainingRuntime',
    metadata: { name: 'mine', namespace },
    spec: { checkpoint: { retention: KEEP_ONE } },
  });
  await world.job(undefined, { runtimeRef });
  for (const step of [10, 20]) await world.save(step);
  await world.order();
  expect(world.pods).toHaveLength(1);
});

it('deletes the saves of a deleted job only if they recorded that its policy says so', async () => {
  const world = await two({ keepNewestVerified: 5, whenJobIsDeleted: 'Delete' });
  await world.reconcile();
  expect(world.checkpoint(20)?.status?.retention).toMatchObject({ action: 'Keep', whenJobIsDeleted: 'Delete' });
  await world.change(20, { status: { retention: { whenJobIsDeleted: null } } });
  const [job] = world.api.objects<TrainingJob & KubeObject>(trainingJobsPath());
  await world.api.delete(trainingJobsPath({ namespace, name: 'tiny-gpt' }), { uid: job?.metadata.uid ?? '' });
  world.script.cache.jobs.cached.remove(job as TrainingJob & KubeObject);
  world.see();
  await world.order();
  await world.ends(DELETED);
  expect([world.checkpoint(10), world.checkpoint(20)?.status?.state]).toEqual([undefined, 'Complete']);
});

it('deletes one save of a namespace at a time', async () => {
  const world = await two();
  for (const step of [30, 40]) await world.save(step);
  await world.order();
  expect(world.pods).toHaveLength(1);
});

describe('an operator that is killed before any of its requests', () => {
  const run = async (killAt: number): Promise<{ readonly requests: number; readonly world: World }> => {
    const world = await two();
    let requests = 0;
    let isDead = false;
    world.api.interfere = ({ verb }) => {
      // A patch is the kubelet's.
      if (verb === 'patch') return;
      // No release resumes from a save whose files a pod may delete.
      if (world.pods.length > 0) expect([undefined, 'Damaged']).toContain(world.checkpoint(10)?.status?.state);
      isDead ||= ++requests === killAt;
      if (isDead) throw new Error('killed');
    };
    const replace = (): void => {
      if (isDead) world.fail();
      isDead = false;
    };
    for (let round = 0; round < 8; round++) {
      await world.reconcile();
      replace();
      if (world.pods.length > 0) await world.ends(DELETED);
      replace();
      await world.script.clock.advance(61_000);
    }
    return { requests, world };
  };

  it('leaves the rest to the next one, and the save that stays as it was', async () => {
    const { requests } = await run(0);
    expect(requests).toBeGreaterThan(10);
    for (let killAt = 1; killAt <= requests; killAt++) {
      const { world } = await run(killAt);
      // The cluster collects the pod of a Checkpoint that is gone.
      const there = new Set(world.api.objects(checkpointsPath()).map(({ metadata }) => metadata.uid));
      const pods = world.pods.filter(({ metadata }) => there.has(metadata.ownerReferences?.[0]?.uid));
      const kept = world.checkpoint(20)?.status?.state;
      expect([killAt, world.checkpoint(10), pods, kept]).toEqual([killAt, undefined, [], 'Complete']);
    }
  });
});
