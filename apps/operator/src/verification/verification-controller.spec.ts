import { type Checkpoint, CheckpointResourceSpec, LABELS, type TrainingJob } from '@coxswain/api-types';
import { aTrainingJob, aVerification } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { checkpointsPath, claimsPath, podsPath } from '../cluster/paths.ts';
import { DAMAGED, namespace, SOUND, VerificationWorld } from '../testing/verification-world.ts';

async function asked(verify = 'V3', status?: Checkpoint['status']): Promise<VerificationWorld> {
  const world = new VerificationWorld();
  await world.checkpoint({ verify, ...(status === undefined ? {} : { status }) });
  await world.reconcile();
  return world;
}

describe('a checkpoint that a user asks to verify', () => {
  it('is read by one pod that can do nothing else', async () => {
    const world = await asked();
    await world.reconcile();
    const [pod, ...others] = world.pods;
    expect(others).toEqual([]);
    expect(pod?.metadata.ownerReferences).toMatchObject([{ kind: 'Checkpoint' }]);
    expect(pod?.spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          command: [expect.anything(), 'inspect-checkpoint', expect.stringContaining('"level":"V3"')],
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
            runAsNonRoot: true,
            runAsUser: 1000,
          },
        },
      ],
    });
    expect(pod?.spec.volumes).toContainEqual({
      name: 'coxswain-checkpoints',
      persistentVolumeClaim: { claimName: 'checkpoints', readOnly: true },
    });
  });

  it('has the verdict in its status, of the node that read it, and then the pod goes', async () => {
    const world = await asked();
    await world.ends({ version: 1, verification: { ...SOUND, node: 'a lie', by: 'Launcher' } });
    expect(world.status()).toMatchObject({
      state: 'Complete',
      verification: { verdict: 'sound', by: 'Worker', node: 'node-a' },
    });
    await world.reconcile();
    expect(world.pods).toEqual([]);
  });

  it('is verified again when the request is later than the last verification', async () => {
    const verification = aVerification({ level: 'V3', by: 'Worker', at: '2026-01-01T00:00:00Z' });
    const later = await asked('V3 2026-01-01T01:00:00Z', { state: 'Complete', verification });
    const earlier = await asked('V3 2025-12-31T23:00:00Z', { state: 'Complete', verification });
    expect([later.pods.length, earlier.pods.length]).toEqual([1, 0]);
  });

  it.each(['V4', 'everything', 'V3; rm -rf'])('is left alone where the request is no level: %s', async (verify) => {
    expect((await asked(verify)).pods).toEqual([]);
  });

  it('keeps a closer verification that found it sound', async () => {
    const world = await asked('V1 2026-02-01T00:00:00Z', { state: 'Complete', verification: SOUND });
    await world.ends({ version: 1, verification: aVerification() });
    expect(world.status()?.verification?.level).toBe('V3');
  });

  it.each<[what: string, message: unknown, why: RegExp]>([
    ['nothing', '', /ended without an answer \(Completed\)/],
    ['no JSON', '{"version":', /ended without an answer/],
    ['another shape', { version: 1, verification: { level: 'V9' } }, /ended without an answer/],
    ['more than a kubelet passes on', { version: 1, unread: 'x'.repeat(5000) }, /ended without an answer/],
    ['that it could not read', { version: 1, unread: 'EIO\u0000 on /c' }, /It could not be verified: EIO\ufffd on \/c/],
  ])('says why where the pod says %s, and is tried again in an hour', async (_what, message, why) => {
    const world = await asked();
    await world.ends(message);
    expect(world.status()).toMatchObject({ state: 'Complete', message: expect.stringMatching(why) as string });
    expect(world.status()?.verification).toBeUndefined();
    await world.reconcile();
    expect(world.pods).toEqual([]);
    await world.script.clock.advance(3_600_001);
    await world.reconcile();
    expect(world.pods).toHaveLength(1);
    await world.ends({ version: 1, verification: SOUND });
    expect(world.status()?.message).toBeUndefined();
  });

  it('says why where the cluster rejects the pod', async () => {
    const world = new VerificationWorld();
    world.api.interfere = ({ verb, path }) => {
      if (verb === 'create' && path.endsWith('/pods'))
        throw new KubeApiError({ status: 403, reason: 'Forbidden', message: 'exceeded quota: gpus' });
    };
    await world.checkpoint({ verify: 'V3' });
    await world.reconcile();
    expect(world.status()?.message).toMatch(/the cluster rejects its pod: .*exceeded quota/);
  });

  it('says that its pod does not start, and the pod goes', async () => {
    const world = await asked();
    const name = world.pods[0]?.metadata.name ?? '';
    const conditions = [{ type: 'PodScheduled', message: '0/3 nodes are available' }];
    const metadata = { creationTimestamp: world.script.clock.now().toISOString() };
    await world.api.patch(
      podsPath({ namespace, name }),
      { metadata, status: { phase: 'Pending', conditions } },
      { type: 'merge' },
    );
    await world.script.clock.advance(900_001);
    await world.reconcile();
    expect([world.pods, world.status()?.message]).toEqual([
      [],
      expect.stringMatching(/did not start.*0\/3 nodes/) as string,
    ]);
  });

  it('waits no longer for a pod that runs beyond its deadline, because its node is gone', async () => {
    const world = await asked();
    const name = world.pods[0]?.metadata.name ?? '';
    const metadata = { creationTimestamp: world.script.clock.now().toISOString() };
    await world.api.patch(podsPath({ namespace, name }), { metadata, status: { phase: 'Running' } }, { type: 'merge' });
    await world.script.clock.advance(1_400_000);
    await world.reconcile();
    expect(world.pods).toHaveLength(1);
    await world.script.clock.advance(600_000);
    await world.reconcile();
    expect([world.pods, world.status()?.message]).toEqual([[], expect.stringMatching(/did not end by its deadline/)]);
  });

  it('tries once a minute while a pod of another program has the name', async () => {
    const world = new VerificationWorld();
    const name = `${await world.checkpoint({ verify: 'V3' })}-verify`;
    await world.api.create(podsPath({ namespace }), { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace } });
    let creations = 0;
    world.api.interfere = ({ verb }) => void (creations += verb === 'create' ? 1 : 0);
    for (let times = 0; times < 12; times++) {
      await world.reconcile();
      await world.script.clock.advance(10_000);
    }
    expect(creations).toBe(2);
  });

  it('is not judged by a pod of the same name that somebody else made', async () => {
    const world = new VerificationWorld();
    const name = `${await world.checkpoint({ verify: 'V3' })}-verify`;
    const labels = { [LABELS.worker]: 'verify' };
    await world.api.create(podsPath({ namespace }), {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels },
    });
    await world.ends({ version: 1, verification: SOUND });
    expect(world.status()?.verification).toBeUndefined();
  });
});

describe('a checkpoint that a user adopts', () => {
  const files = { count: 4, bytes: 400, sha256: 'e'.repeat(64) };
  const adopted = async (): Promise<VerificationWorld> => {
    const world = new VerificationWorld();
    const spec = CheckpointResourceSpec.parse({ claimName: 'old-runs', path: 'llama/iter_0000700' });
    const { status: _, ...named } = aCheckpoint({});
    await world.api.create(checkpointsPath({ namespace }), {
      ...named,
      metadata: { name: 'llama', namespace },
      spec,
    });
    world.see();
    await world.reconcile();
    return world;
  };

  it('is read once by a pod without a manifest, and then jobs can resume from it', async () => {
    const world = await adopted();
    const question: unknown = JSON.parse(world.pods[0]?.spec.containers[0]?.command[2] ?? '');
    expect(question).toEqual({ directory: '/coxswain/checkpoints/llama/iter_0000700', level: 'V2' });
    await world.ends({ version: 1, verification: { ...SOUND, level: 'V2' }, files });
    expect(world.status(0)).toMatchObject({ state: 'Complete', verification: { level: 'V2' }, files });
    await world.reconcile();
    await world.reconcile();
    expect(world.pods).toEqual([]);
  });

  it('stays unverified and says why where it cannot be read', async () => {
    const world = await adopted();
    await world.ends({ version: 1, unread: 'EACCES: permission denied' });
    expect(world.status(0)).toEqual({
      state: 'Unverified',
      message: expect.stringMatching(/^It could not be verified: EACCES/) as string,
    });
    await world.script.clock.advance(3_600_001);
    await world.reconcile();
    await world.ends({ version: 1, verification: SOUND, files });
    expect(world.status(0)).toMatchObject({ state: 'Complete', files });
    expect(world.status(0)?.message).toBeUndefined();
  });
});

describe('other content', () => {
  it('that one node found is evidence, and another node is asked; two are left to the judge of checkpoints', async () => {
    const world = await asked();
    await world.ends({ version: 1, verification: DAMAGED }, 'node-a');
    expect(world.status()).toMatchObject({
      state: 'Complete',
      verification: { verdict: 'damaged', node: 'node-a' },
      suspect: {
        reason: 'ContentDiffers',
        evidence: [{ node: 'node-a', kind: 'ContentDiffers', found: 'w has other bytes.' }],
      },
    });
    await world.reconcile();
    expect(JSON.stringify(world.pods[0]?.spec.affinity)).toContain('"operator":"NotIn","values":["node-a"]');
    await world.ends({ version: 1, verification: DAMAGED }, 'node-b');
    expect(world.status()?.suspect?.evidence.map(({ node }) => node)).toEqual(['node-a', 'node-b']);
    await world.reconcile();
    await world.reconcile();
    expect(world.pods).toEqual([]);
  });

  it('that another node does not find leaves the checkpoint usable', async () => {
    const world = await asked();
    await world.ends({ version: 1, verification: DAMAGED }, 'node-a');
    await world.reconcile();
    await world.ends({ version: 1, verification: SOUND }, 'node-b');
    expect(world.status()?.verification).toMatchObject({ verdict: 'sound', node: 'node-b' });
    await world.reconcile();
    expect(world.pods).toEqual([]);
  });
});

describe('a checkpoint whose files a pod did not find', () => {
  const absent = { since: '2026-01-01T00:00:00Z' };
  it.each<[what: string, answer: object, isBack: boolean]>([
    ['counts again, with an Event, once a pod finds them sound', { verification: SOUND }, true],
    ['stays so if a pod finds it damaged', { verification: DAMAGED }, false],
    ['stays so if no pod can read it', { unread: 'ENOENT' }, false],
  ])('%s', async (_what, answer, isBack) => {
    const world = await asked('V3', { state: 'Complete', absent });
    world.script.cache.jobs.cached.upsert(aTrainingJob() as TrainingJob & KubeObject);
    await world.ends({ version: 1, ...answer });
    expect([world.status()?.absent, world.cleared]).toEqual([
      isBack ? undefined : absent,
      isBack ? [expect.stringMatching(/did not find before, are there: .* counts again\.$/) as string] : [],
    ]);
  });
});

describe('other content that the only node of a cluster finds', () => {
  const podsGo = async (world: VerificationWorld): Promise<void> => {
    for (const { metadata } of world.pods)
      await world.api.delete(podsPath({ namespace, name: metadata.name }), { uid: metadata.uid ?? '' });
  };
  const found = async (): Promise<VerificationWorld> => {
    const world = await asked();
    world.script.cache.jobs.cached.upsert(aTrainingJob() as TrainingJob & KubeObject);
    await world.ends({ version: 1, verification: DAMAGED }, 'node-a');
    await world.script.clock.advance(3_500_000);
    await world.reconcile();
    expect(JSON.stringify(world.pods[0]?.spec.affinity)).toContain('node-a');
    await podsGo(world);
    await world.script.clock.advance(100_001);
    await world.reconcile();
    return world;
  };

  it('is read again by it an hour later, and taken back, with an Event, if all bytes are right', async () => {
    const world = await found();
    expect(world.pods.map(({ spec }) => spec.affinity)).toEqual([undefined]);
    await world.ends({ version: 1, verification: SOUND }, 'node-a');
    expect(world.status()).toMatchObject({ state: 'Complete', verification: { verdict: 'sound' } });
    expect([world.status()?.suspect, world.cleared]).toEqual([
      undefined,
      [expect.stringMatching(/^Node node-a .* no longer suspect\.$/) as string],
    ]);
  });

  it('stays if it is found again, and is then read once a day', async () => {
    const world = await found();
    await world.ends({ version: 1, verification: DAMAGED }, 'node-a');
    expect([world.status()?.suspect?.evidence.length, world.cleared]).toEqual([1, []]);
    for (let hour = 0; hour < 23; hour++) {
      await world.script.clock.advance(3_600_000);
      await world.reconcile();
      expect(world.pods.filter(({ spec }) => spec.affinity === undefined)).toEqual([]);
      await podsGo(world);
    }
  });

  it('is not taken back by it if trainers found it, and no worker', async () => {
    const evidence = {
      epoch: 1,
      node: 'node-a',
      kind: 'ContentDiffers',
      path: 'w',
      expected: 'a',
      found: 'b',
    } as const;
    const world = await asked('V3', {
      state: 'Complete',
      verification: aVerification({ level: 'V1', at: '2020-01-01T00:00:00Z' }),
      suspect: { reason: 'ContentDiffers', evidence: [evidence] },
    });
    await world.ends({ version: 1, verification: SOUND }, 'node-a');
    expect(world.status()).toMatchObject({ verification: { level: 'V3' }, suspect: { evidence: [evidence] } });
  });

  it('is not taken back by a read within the hour', async () => {
    const world = await asked();
    await world.ends({ version: 1, verification: DAMAGED }, 'node-a');
    await world.reconcile();
    await world.ends({ version: 1, verification: SOUND }, 'node-a');
    expect([world.status()?.suspect?.reason, world.cleared]).toEqual(['ContentDiffers', []]);
  });
});

describe('where the claim', () => {
  const mounted = async (
    mode: string,
    otherThan: Checkpoint['status'] = { state: 'Complete' },
  ): Promise<VerificationWorld> => {
    const world = new VerificationWorld();
    const job = aTrainingJob();
    world.script.pod('trainer', { job, nodeName: 'node-a' });
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'checkpoints', namespace } };
    await world.api.create(claimsPath({ namespace }), { ...claim, spec: { accessModes: [mode] } });
    await world.checkpoint({ verify: 'V3', status: otherThan });
    await world.reconcile();
    return world;
  };

  it('is of one node, the pod runs there', async () => {
    const world = await mounted('ReadWriteOnce');
    expect(JSON.stringify(world.pods[0]?.spec.affinity)).toContain('"operator":"In","values":["node-a"]');
  });

  it('is of one pod, the verification waits and says so', async () => {
    const world = await mounted('ReadWriteOncePod');
    expect([world.pods.length, world.status()?.message]).toEqual([
      0,
      expect.stringMatching(/mounted on node-a/) as string,
    ]);
  });

  it('is of all nodes, any will do', async () => {
    expect((await mounted('ReadWriteMany')).pods[0]?.spec.affinity).toBeUndefined();
  });
});

it('asks a quiet cluster nothing, once it has seen that it is quiet', async () => {
  const world = new VerificationWorld();
  const asked: string[] = [];
  world.api.interfere = ({ verb }) => void asked.push(verb);
  await world.checkpoint();
  asked.length = 0;
  for (let round = 0; round < 3; round++) await world.reconcile();
  expect(asked).toEqual(['list']);
});

it('verifies two in a namespace at once, the newest first, and goes on as another leader', async () => {
  const world = new VerificationWorld();
  for (const step of [10, 20, 30]) await world.checkpoint({ step, verify: 'V2' });
  await world.reconcile();
  world.fail();
  await world.reconcile();
  expect(world.pods.map(({ metadata }) => metadata.name.replace(/^.*-(s\d+)-verify$/, '$1')).toSorted()).toEqual([
    's20',
    's30',
  ]);
  expect(world.errors).toEqual([]);
});
