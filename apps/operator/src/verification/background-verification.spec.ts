import type { TrainingJob } from '@coxswain/api-types';
import { aTrainingJob, aVerification, someContents } from '@coxswain/api-types/testing';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { claimsPath } from '../cluster/paths.ts';
import type { CacheScript } from '../testing/a-cluster-cache.ts';
import { namespace, VerificationWorld } from '../testing/verification-world.ts';

describe('a sound save that no user asked about', () => {
  const V1 = aVerification({ at: '2025-12-31T00:00:00Z' });
  const world = async (
    more: { readonly mode?: string; readonly job?: Parameters<CacheScript['job']>[1]; readonly refuses?: boolean } = {},
  ): Promise<VerificationWorld> => {
    const made = new VerificationWorld();
    made.backgroundBytesPerHour = 1e9;
    made.fail();
    const { metadata } = aTrainingJob();
    made.script.cache.jobs.cached.upsert({ ...aTrainingJob(), ...more.job, metadata } as TrainingJob & KubeObject);
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'checkpoints', namespace } };
    const spec = { accessModes: [more.mode ?? 'ReadWriteMany'] };
    await made.api.create(claimsPath({ namespace }), { ...claim, spec });
    if (more.refuses === true)
      made.api.interfere = ({ verb, path }) => {
        if (verb === 'create' && path.endsWith('/pods'))
          throw new KubeApiError({ status: 403, reason: 'Forbidden', message: 'exceeded quota: pods' });
      };
    for (const step of [20, 30]) await made.checkpoint({ step, status: { state: 'Complete', verification: V1 } });
    await made.reconcile();
    return made;
  };
  const finished = { status: { conditions: [{ type: 'Complete', status: 'True', reason: 'Trained' }] } } as object;

  it('is verified up to V2, the newest first, and the next one after it', async () => {
    const one = await world();
    expect(one.pods.map(({ spec }) => spec.containers[0]?.command[2])).toEqual([expect.stringMatching(/"level":"V2"/)]);
    await one.ends({ version: 1, verification: aVerification({ level: 'V2' }) });
    expect([one.status(30)?.verification?.level, one.status(20)?.verification?.level]).toEqual(['V2', 'V1']);
    await one.reconcile();
    expect(one.pods.map(({ metadata }) => metadata.name)).toEqual([expect.stringMatching(/s20-verify$/)]);
  });

  it('waits for the request of a user in the same place', async () => {
    const one = await world();
    await one.checkpoint({ step: 40, verify: 'V3' });
    await one.checkpoint({ step: 50, verify: 'V3' });
    await one.reconcile();
    expect(one.pods.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      expect.stringMatching(/s30-verify$/),
      expect.stringMatching(/s50-verify$/),
    ]);
  });

  it.each<[what: string, more: Parameters<typeof world>[0], pods: number]>([
    ['of one node, which its job uses', { mode: 'ReadWriteOnce' }, 0],
    ['of one node, which no job uses any more', { mode: 'ReadWriteOnce', job: finished }, 1],
    ['of all nodes', { mode: 'ReadWriteMany' }, 1],
  ])('on a claim %s', async (_what, more, pods) => {
    const one = await world(more);
    expect([one.pods.length, one.status(30)?.message]).toEqual([pods, undefined]);
  });

  it('is read later where a job begins to use its claim of one node', async () => {
    const one = await world({ mode: 'ReadWriteOnce', job: finished });
    const other = { ...aTrainingJob().metadata, name: 'other', uid: 'uid-of-other' };
    one.script.cache.jobs.cached.upsert(aTrainingJob({ metadata: other }) as TrainingJob & KubeObject);
    await one.reconcile();
    expect([one.pods, one.status(30)?.verification?.level]).toEqual([[], 'V1']);
  });

  it('is not tried for each save where the cluster rejects its pod, and nothing is said of it', async () => {
    const one = await world({ refuses: true });
    let creations = 0;
    one.api.interfere = ({ verb }) => void (creations += verb === 'create' ? 1 : 0);
    await one.reconcile();
    expect([creations, one.status(30)?.message]).toEqual([0, undefined]);
    await one.script.clock.advance(3_600_001);
    await one.reconcile();
    expect(one.pods.map(({ metadata }) => metadata.name)).toEqual([expect.stringMatching(/s20-verify$/)]);
  });
});

describe('the last save of a pod that stopped before its launcher had verified it', () => {
  const reported = { state: 'Complete' as const };
  const world = async (): Promise<VerificationWorld> => {
    const made = new VerificationWorld();
    made.backgroundBytesPerHour = 1e9;
    made.fail();
    made.script.cache.jobs.cached.upsert(aTrainingJob() as TrainingJob & KubeObject);
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'checkpoints', namespace } };
    await made.api.create(claimsPath({ namespace }), { ...claim, spec: { accessModes: ['ReadWriteMany'] } });
    await made.checkpoint({ step: 30, status: reported });
    await made.reconcile();
    return made;
  };
  const levels = ({ pods }: VerificationWorld): readonly (string | undefined)[] =>
    pods.map(({ spec }) => /"level":"(V\d)"/.exec(spec.containers[0]?.command[2] ?? '')?.[1]);

  it('is verified and described by a pod up to V1, and up to V2 ten minutes later', async () => {
    const one = await world();
    expect(levels(one)).toEqual(['V1']);
    const contents = someContents({ step: 30 });
    await one.ends({ version: 1, verification: aVerification({ level: 'V1' }), contents });
    expect(one.status(30)).toMatchObject({ verification: { level: 'V1', by: 'Worker' }, contents: { step: 30 } });
    await one.reconcile();
    expect(levels(one)).toEqual([]);
    await one.script.clock.advance(600_001);
    await one.reconcile();
    expect(levels(one)).toEqual(['V2']);
  });

  it('is tried again a day after a pod could not read it, and not before', async () => {
    const one = await world();
    await one.ends({ version: 1, unread: 'the claim has no such directory' });
    expect(one.status(30)?.message).toMatch(/^It could not be verified: .*tried again in a day/);
    await one.script.clock.advance(3_600_001);
    await one.reconcile();
    expect(levels(one)).toEqual([]);
    await one.script.clock.advance(86_400_000);
    await one.reconcile();
    expect(levels(one)).toEqual(['V1']);
  });
});
