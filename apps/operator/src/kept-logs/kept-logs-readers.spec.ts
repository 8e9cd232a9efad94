import { API_GROUP_VERSION, LABELS, type TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { FakeKubeApi } from '@coxswain/kube/testing';
import { podsPath } from '../cluster/paths.ts';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { KeptLogsReaders } from './kept-logs-readers.ts';

type Pod = KubeObject & {
  readonly spec: {
    readonly automountServiceAccountToken: boolean;
    readonly containers: readonly {
      readonly command: readonly string[];
      readonly env: readonly { readonly name: string }[];
      readonly volumeMounts: readonly { readonly name: string; readonly readOnly?: boolean }[];
    }[];
    readonly volumes: readonly unknown[];
  };
};

const JOB = aTrainingJob({ spec: { checkpoint: { claimName: 'runs', path: 'gpt' } } });
const { uid: jobUid, namespace = '' } = JOB.metadata;
const ASKED = { jobUid, attempt: 2, rank: 3, maxBytes: 1_000 };

let script: CacheScript;
let api: FakeKubeApi;
let readers: KeptLogsReaders;

function world(job: TrainingJob = JOB): void {
  script = new CacheScript();
  api = new FakeKubeApi();
  script.cache.jobs.cached.upsert(job as TrainingJob & KubeObject);
  readers = new KeptLogsReaders({
    client: api,
    cache: script.cache,
    clock: script.clock,
    pods: { launcherImage: 'launcher', user: 1000 },
    onError: (error) => {
      throw error;
    },
  });
}

const pods = (): readonly Pod[] => api.objects<Pod>(podsPath());

describe('a pod that reads kept logs', () => {
  it('has the folder of the job alone in its question, reads the claim alone, and belongs to the job', async () => {
    world();
    const reply = await readers.open(ASKED);
    const [pod] = pods();
    expect(reply).toEqual({ kind: 'pod', pod: { namespace, name: pod?.metadata.name, jobUid } });
    const [container] = pod?.spec.containers ?? [];
    expect(JSON.parse(container?.command.at(-1) ?? '')).toEqual({
      attempt: 2,
      rank: 3,
      maxBytes: 1_000,
      folder: `gpt/coxswain-logs/${namespace}/${JOB.metadata.name}-${jobUid.slice(0, 8)}`,
    });
    expect(pod?.metadata.ownerReferences).toEqual([
      { apiVersion: API_GROUP_VERSION, kind: 'TrainingJob', name: JOB.metadata.name, uid: jobUid },
    ]);
    expect(pod?.spec.automountServiceAccountToken).toBe(false);
    expect(pod?.spec.volumes).toContainEqual({
      name: 'coxswain-checkpoints',
      persistentVolumeClaim: { claimName: 'runs', readOnly: true },
    });
    expect(container?.volumeMounts).toContainEqual(
      expect.objectContaining({ name: 'coxswain-checkpoints', readOnly: true }),
    );
  });

  it('of a bucket has the credentials of the job', async () => {
    const bucket = { uri: 's3://training/runs', credentialsSecret: 'job-bucket' };
    world(aTrainingJob({ spec: { checkpoint: { bucket } } }));
    await readers.open(ASKED);
    const names = pods()[0]?.spec.containers[0]?.env.map(({ name }) => name);
    expect(names?.filter((name) => name.startsWith('COXSWAIN_'))).toEqual([
      'COXSWAIN_CHECKPOINT_BUCKET',
      'COXSWAIN_CHECKPOINT_BUCKET_KEY_ID',
      'COXSWAIN_CHECKPOINT_BUCKET_KEY',
    ]);
  });

  it('is there once for a question, and again a while later', async () => {
    world();
    const first = await readers.open(ASKED);
    expect(await readers.open(ASKED)).toEqual(first);
    expect(await readers.open({ ...ASKED, rank: 4 })).not.toEqual(first);
    await script.clock.advance(60_000);
    expect(await readers.open(ASKED)).not.toEqual(first);
    expect(pods()).toHaveLength(3);
  });

  it('is one of four of its namespace at most', async () => {
    world();
    const replies = [];
    for (const rank of [0, 1, 2, 3, 4]) replies.push((await readers.open({ ...ASKED, rank })).kind);
    expect(replies).toEqual(['pod', 'pod', 'pod', 'pod', 'busy']);
  });

  it('waits in line behind seven others of its namespace at most, so that other namespaces have their turn', async () => {
    world();
    const other = { ...JOB, metadata: { ...JOB.metadata, namespace: 'other', uid: 'uid-of-other' } };
    script.cache.jobs.cached.upsert(other as TrainingJob & KubeObject);
    const ask = (rank: number) => readers.open({ ...ASKED, rank });
    const replies = Array.from({ length: 70 }, (_, rank) => ask(rank));
    const kind = (await readers.open({ ...ASKED, jobUid: 'uid-of-other' })).kind;
    expect(kind).toBe('pod');
    const kinds = (await Promise.all(replies)).map((reply) => reply.kind);
    expect(kinds.filter((one) => one !== 'busy')).toEqual(['pod', 'pod', 'pod', 'pod']);
    expect((await ask(0)).kind).toBe('pod');
  });

  it('is one of four also if the requests come at the same time', async () => {
    world();
    const replies = await Promise.all(
      Array.from({ length: 80 }, (_, at) => readers.open({ ...ASKED, grep: `word ${at}` })),
    );
    expect(replies.filter(({ kind }) => kind === 'pod')).toHaveLength(4);
    expect(pods()).toHaveLength(4);
  });

  it('does not keep the next request from its answer if it fails', async () => {
    world();
    api.interfere = ({ verb }) => {
      if (verb === 'create') throw new Error('connection lost');
    };
    const failed = readers.open(ASKED);
    const next = readers.open({ ...ASKED, jobUid: 'another-uid' });
    await expect(failed).rejects.toThrow('connection lost');
    expect(await next).toEqual({ kind: 'noJob' });
  });

  it('is the same for moments of the same second', async () => {
    world();
    const first = await readers.open({ ...ASKED, sinceMs: 1_764_444_139_001 });
    expect(await readers.open({ ...ASKED, sinceMs: 1_764_444_139_999 })).toEqual(first);
    expect(pods()[0]?.spec.containers[0]?.command.at(-1)).toContain('"sinceMs":1764444139000');
  });

  it('takes the place of the oldest that has finished, if its namespace has 16', async () => {
    world();
    for (let at = 10; at < 26; at += 1)
      await api.create(podsPath({ namespace }), {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: `gpt-logs-${at}`,
          namespace,
          creationTimestamp: `2025-12-31T23:${at + 30}:00Z`,
          labels: { [LABELS.worker]: 'logs' },
        },
        // The oldest still reads.
        status: { phase: at === 10 ? 'Running' : 'Succeeded' },
      });
    await readers.open(ASKED);
    const names = pods().map(({ metadata }) => metadata.name);
    expect(names).toHaveLength(16);
    expect(names).toContain('gpt-logs-10');
    expect(names).not.toContain('gpt-logs-11');
  });

  it.each<[string, TrainingJob, string, string]>([
    ['a job that is not there', JOB, 'another-uid', 'noJob'],
    ['a job without a place for logs', aTrainingJob({ spec: { checkpoint: undefined } }), jobUid, 'notKept'],
  ])('is not started for %s', async (_what, job, asked, kind) => {
    world(job);
    expect(await readers.open({ ...ASKED, jobUid: asked })).toEqual({ kind });
    expect(pods()).toEqual([]);
  });

  it('that the cluster rejects is reported with the reason', async () => {
    world();
    api.interfere = ({ verb }) => {
      if (verb === 'create')
        throw new KubeApiError({ status: 403, reason: 'Forbidden', message: 'exceeded quota: pods' });
    };
    expect(await readers.open(ASKED)).toEqual({
      kind: 'rejected',
      why: expect.stringContaining('exceeded quota: pods'),
    });
  });

  it.each([
    ['is deleted some minutes later', '2025-12-31T23:50:00Z', 0],
    ['stays for a while, so that the same question is not asked of storage again', '2025-12-31T23:51:00Z', 1],
  ])('%s', async (_what, creationTimestamp, left) => {
    world();
    await api.create(podsPath({ namespace }), {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'gpt-logs-1', namespace, creationTimestamp, labels: { [LABELS.worker]: 'logs' } },
    });
    await readers.sweep();
    expect(pods()).toHaveLength(left);
  });
});
