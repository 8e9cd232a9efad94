import { ANNOTATIONS } from '@coxswain/api-types';
import { KubeApiError } from '@coxswain/kube';
import { placementsPath } from '../cluster/paths.ts';
import { CONVERTED, ConversionWorld, FAILED, namespace } from '../testing/conversion-world.ts';

const DELETED = { version: 1, outcome: 'Deleted', files: 7 };

async function begun(): Promise<ConversionWorld> {
  const world = new ConversionWorld();
  await world.begin();
  await world.reconcile(3);
  return world;
}

async function done(): Promise<ConversionWorld> {
  const world = await begun();
  await world.ends(CONVERTED);
  await world.want(false);
  return world;
}

describe('a save that a job waits for', () => {
  it('is converted by one pod, and what it makes is recorded and stays', async () => {
    const world = await done();
    const { name, uid } = world.source?.metadata ?? {};
    expect(world.converted?.spec).toMatchObject({
      jobName: '',
      path: `${world.source?.spec.path ?? ''}.coxswain-converted/global_step20_universal`,
      convertedFrom: { checkpoint: name, uid, jobUid: world.jobUid, step: 20, kind: 'DeepSpeedUniversal' },
    });
    expect(world.converted?.status).toMatchObject({
      state: 'Unverified',
      conversion: { convertedAt: expect.any(String) as string, readBytes: 1_000, seconds: 2 },
    });
    await world.reconcile(3);
    expect([world.pods, world.checkpoints.length, world.errors]).toEqual([[], 2, []]);
    expect(world.events).toEqual([
      expect.stringMatching(/^CheckpointConverted: A pod converted checkpoint .* in 2\.0 s\.$/),
    ]);
  });

  it('is read by a pod that writes beside it alone, in the image of the trainer, and has no rights', async () => {
    const world = await begun();
    const [pod] = world.pods;
    const [container] = pod?.spec.containers ?? [];
    const path = world.source?.spec.path ?? '';
    const run = path.replace('/global_step20', '');
    expect(JSON.parse(container?.env.find(({ name }) => name === 'COXSWAIN_CONVERSION')?.value ?? '')).toEqual({
      kind: 'DeepSpeedUniversal',
      source: `/coxswain/checkpoints/${path}`,
      target: '/coxswain/save/global_step20.coxswain-converted/global_step20_universal',
    });
    expect(container?.volumeMounts.filter(({ name }) => name === 'coxswain-checkpoints')).toEqual([
      { name: 'coxswain-checkpoints', mountPath: '/coxswain/checkpoints', readOnly: true },
      { name: 'coxswain-checkpoints', mountPath: '/coxswain/save', subPath: run },
    ]);
    expect(pod?.spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          command: [expect.anything(), 'convert-checkpoint'],
          image: expect.stringContaining('') as string,
          securityContext: {
            readOnlyRootFilesystem: true,
            runAsNonRoot: true,
            runAsUser: 1000,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    });
  });

  it('is converted in its bucket by a pod with the credentials of the job and a disk for three times the save', async () => {
    const world = new ConversionWorld();
    await world.begin();
    const bucket = { uri: 's3://training/runs', endpoint: 'https://s3.research', credentialsSecret: 'job-bucket' };
    const bytes = 7e9;
    await world.change(world.source, { spec: { claimName: '', bucket, bytes } });
    await world.reconcile(3);
    const { path = '', manifestSha256 } = world.source?.spec ?? {};
    expect(world.converted?.spec).toMatchObject({ claimName: '', bucket });
    const [pod] = world.pods;
    const [container] = pod?.spec.containers ?? [];
    const value = (name: string): unknown => {
      const entry: { readonly value?: string; readonly valueFrom?: unknown } =
        container?.env.find((one) => one.name === name) ?? {};
      return entry.valueFrom ?? (JSON.parse(entry.value ?? '') as unknown);
    };
    const target = `${path}.coxswain-converted/global_step20_universal`;
    expect([
      value('COXSWAIN_CONVERSION'),
      value('COXSWAIN_CHECKPOINT_BUCKET'),
      value('COXSWAIN_CHECKPOINT_BUCKET_KEY_ID'),
    ]).toEqual([
      { kind: 'DeepSpeedUniversal', source: path, target, isInBucket: true, manifestSha256 },
      { uri: bucket.uri, endpoint: bucket.endpoint },
      { secretKeyRef: { name: 'job-bucket', key: 'AWS_ACCESS_KEY_ID', optional: false } },
    ]);
    expect(pod?.spec).toMatchObject({
      automountServiceAccountToken: false,
      volumes: expect.arrayContaining([{ name: 'coxswain-checkpoints', emptyDir: {} }]) as unknown,
      containers: [{ resources: { requests: { 'ephemeral-storage': String(3 * bytes) } } }],
    });
    expect(JSON.stringify(pod?.spec)).not.toContain('persistentVolumeClaim');
  });

  it('says that its pod cannot start, and tries again', async () => {
    const world = new ConversionWorld();
    await world.begin();
    let isFull = true;
    world.api.interfere = ({ verb, path }) => {
      if (isFull && verb === 'create' && path.endsWith('/pods'))
        throw new KubeApiError({ status: 403, reason: 'Forbidden', message: 'exceeded quota: cpu' });
    };
    await world.reconcile(4);
    expect([world.pods, world.conversion?.problem]).toEqual([
      [],
      expect.stringMatching(/^the cluster rejects its pod: .*exceeded quota: cpu/),
    ]);
    isFull = false;
    await world.reconcile();
    expect(world.pods).toEqual([]);
    await world.script.clock.advance(61_000);
    await world.reconcile();
    expect(world.pods).toHaveLength(1);
  });

  it('counts as failed if the pod says so, for an hour', async () => {
    const world = await begun();
    await world.ends(FAILED);
    expect(world.conversion).toMatchObject({
      failedAt: expect.any(String) as string,
      problem: 'File zero_pp_rank_1_mp_rank_00_optim_states.pt is cut off',
    });
    expect(world.events).toEqual([expect.stringMatching(/^ConversionFailed: .* failed: File zero_pp_rank_1/)]);
    await world.reconcile(2);
    expect(world.pods).toEqual([]);
    await world.script.clock.advance(3_600_000);
    await world.reconcile(2);
    expect([world.pods.length, world.conversion?.failedAt]).toEqual([1, undefined]);
  });

  it('counts as failed after three pods without an answer', async () => {
    const world = await begun();
    for (let pod = 0; pod < 3; pod++) {
      expect([pod, world.conversion?.failedAt]).toEqual([pod, undefined]);
      await world.ends('', 'Failed');
      await world.script.clock.advance(61_000);
      await world.reconcile();
    }
    expect(world.conversion).toMatchObject({ tries: 3, failedAt: expect.any(String) as string });
    expect(world.pods).toEqual([]);
  });
});

describe('what was converted', () => {
  it('is dropped half done if the job needs it no longer, with its pod, its files and its object', async () => {
    const world = await begun();
    await world.want(false);
    await world.reconcile();
    expect([world.pods, world.converted?.status]).toMatchObject([
      [],
      { state: 'Damaged', conversion: { droppedAt: expect.any(String) as string } },
    ]);
    await world.reconcile();
    const [pod] = world.pods;
    const question = JSON.parse(pod?.spec.containers[0]?.command.at(-1) ?? '') as object;
    expect(question).toMatchObject({
      isConversion: true,
      save: { path: `${world.source?.spec.path ?? ''}.coxswain-converted` },
    });
    await world.ends(DELETED);
    expect([world.converted, world.pods, world.source?.status?.state, world.errors]).toEqual([
      undefined,
      [],
      'Complete',
      [],
    ]);
  });

  it('is made again if the job needs it again after that', async () => {
    const world = await begun();
    await world.want(false);
    await world.reconcile(2);
    await world.ends(DELETED);
    await world.want(true);
    await world.reconcile(3);
    expect([world.pods.length, world.conversion?.droppedAt]).toEqual([1, undefined]);
  });

  it.each<[what: string, change: (world: ConversionWorld) => Promise<unknown>, isDropped: boolean]>([
    ['stays while its job names it', () => Promise.resolve(), false],
    ['goes with the save that it was made from', (world) => world.forgetSource(), true],
    [
      'stays without that save if it is pinned',
      async (world) => {
        await world.change(world.converted, { metadata: { annotations: { [ANNOTATIONS.pin]: 'mine' } } });
        await world.forgetSource();
      },
      false,
    ],
    [
      'stays without that save while an attempt resumes from it, though no watch has brought that',
      async (world) => {
        const resume = { checkpoint: world.converted?.metadata.name, step: 20, path: world.converted?.spec.path };
        const spec = { jobName: 'tiny-gpt', jobUid: world.jobUid, epoch: 2, resume };
        await world.api.create(placementsPath({ namespace }), { metadata: { name: 'p', namespace }, spec });
        await world.forgetSource();
      },
      false,
    ],
  ])('%s', async (_what, change, isDropped) => {
    const world = await done();
    await world.change(world.converted, {
      status: {
        state: 'Complete',
        verification: {
          level: 'V2',
          verdict: 'sound',
          at: '2026-01-01T00:06:00Z',
          by: 'Worker',
          readBytes: 1,
          findings: [],
        },
      },
    });
    await change(world);
    world.see();
    await world.reconcile();
    expect([world.conversion?.droppedAt !== undefined, world.errors]).toEqual([isDropped, []]);
  });

  it('is deleted an hour after it was found broken, although its job names it, so that it is made again', async () => {
    const world = await done();
    const at = world.script.clock.now().toISOString();
    const verification = { level: 'V2', verdict: 'damaged', at, by: 'Worker', readBytes: 1, findings: [] };
    await world.change(world.converted, { status: { state: 'Complete', verification } });
    await world.reconcile();
    expect(world.conversion?.droppedAt).toBeUndefined();
    await world.script.clock.advance(3_600_000);
    await world.reconcile();
    expect(world.conversion?.droppedAt).toBeDefined();
  });

  it('is not cleaned up again at once if its files could not be deleted, and says why', async () => {
    const world = await begun();
    await world.want(false);
    await world.reconcile(2);
    await world.ends({ version: 1, outcome: 'Unfinished', why: 'EIO' });
    await world.reconcile();
    expect([world.pods, world.conversion?.problem]).toEqual([[], 'its files are not deleted: EIO']);
  });
});
