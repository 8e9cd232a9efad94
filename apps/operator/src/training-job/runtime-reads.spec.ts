import type { TrainingJob, TrainingRuntime } from '@coxswain/api-types';
import { aRuntime, aTrainingJob } from '@coxswain/api-types/testing';
import { KubeApiError } from '@coxswain/kube';
import { FRESH_MS, RuntimeReads } from './runtime-reads.ts';

const jobOf = (name: string, runtime = 'fabric', kind?: 'TrainingRuntime'): TrainingJob =>
  aTrainingJob({
    metadata: { name, namespace: 'research' },
    spec: { runtimeRef: { name: runtime, ...(kind === undefined ? {} : { kind }) } },
  });

/** An API server whose answers are given one by one. */
function aServer() {
  const clock = { ms: 1_000_000 };
  const asked: string[] = [];
  const answers: { resolve(runtime: TrainingRuntime): void; reject(error: Error): void }[] = [];
  const news: string[] = [];
  const failures: string[] = [];
  const reads = new RuntimeReads({
    client: {
      get: (path: string) => {
        asked.push(path);
        const { promise, resolve, reject } = Promise.withResolvers<TrainingRuntime>();
        answers.push({ resolve, reject });
        return promise as Promise<never>;
      },
    },
    clock: { monotonicMs: () => clock.ms },
    onNews: (key) => news.push(key),
    onFailure: (runtime) => failures.push(runtime),
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 8; turn += 1) await Promise.resolve();
  };
  return {
    clock,
    asked,
    news,
    failures,
    reads,
    settle,
    answer: (runtime = aRuntime()) => answers.shift()?.resolve(runtime),
    refuse: (error: Error) => answers.shift()?.reject(error),
  };
}

describe('the runtimes that jobs name', () => {
  it('are not known before somebody asks', () => {
    expect(aServer().reads.runtimeOf(jobOf('a'))).toBeUndefined();
  });

  it('are of the cluster, or of the job’s own namespace', () => {
    const { reads, asked } = aServer();
    reads.read(jobOf('a'));
    reads.read(jobOf('a', 'own', 'TrainingRuntime'));
    const group = '/apis/training.coxswain.dev/v1alpha1';
    expect(asked).toEqual([
      `${group}/clustertrainingruntimes/fabric`,
      `${group}/namespaces/research/trainingruntimes/own`,
    ]);
  });

  it('are asked for once by all jobs that want one, and each of them hears of the answer', async () => {
    const { reads, asked, news, answer, settle } = aServer();
    for (const name of ['a', 'b']) reads.read(jobOf(name));
    expect(reads.runtimeOf(jobOf('c'))).toEqual({ kind: 'unknown', isFresh: false, isBeingRead: true });
    answer();
    await settle();
    expect(asked).toHaveLength(1);
    expect(news).toEqual(['research/a', 'research/b', 'research/c']);
    expect(reads.runtimeOf(jobOf('d'))).toMatchObject({ kind: 'found', isFresh: true, isBeingRead: false });
  });

  it('are good to begin with for a minute, and shown as they were while they are read again', async () => {
    const { reads, clock, answer, settle } = aServer();
    reads.read(jobOf('a'));
    answer();
    await settle();
    clock.ms += FRESH_MS - 1;
    expect(reads.runtimeOf(jobOf('a'))?.isFresh).toBe(true);
    clock.ms += 1;
    expect(reads.runtimeOf(jobOf('a'))?.isFresh).toBe(false);
    reads.read(jobOf('a'));
    expect(reads.runtimeOf(jobOf('a'))).toMatchObject({ kind: 'found', isFresh: false, isBeingRead: true });
  });

  it.each([
    ['is none', 404, { kind: 'missing' }, 0],
    ['cannot be told', 403, { kind: 'unreadable', problem: 'no' }, 1],
    ['cannot be told at present', 503, { kind: 'unreadable', problem: 'no' }, 1],
  ])('of which there %s are told as such', async (_what, status, expectedRead, failed) => {
    const { reads, failures, refuse, settle } = aServer();
    reads.read(jobOf('a'));
    refuse(new KubeApiError({ status, reason: '', message: 'no' }));
    await settle();
    expect(reads.runtimeOf(jobOf('a'))).toMatchObject({ ...expectedRead, isBeingRead: false });
    expect(failures).toHaveLength(failed);
  });

  it('are kept in bounded number, whatever jobs name', () => {
    const { reads } = aServer();
    for (let index = 0; index < 2_000; index += 1) reads.read(jobOf('a', `r${index}`));
    expect(reads.size).toBe(512);
  });

  it('are each read once, whoever names more of them than are kept, and the others after them', async () => {
    const { reads, asked, news, refuse, settle, clock } = aServer();
    const jobs = new Map(
      Array.from({ length: 600 }, (_, index) => [`research/${index}`, jobOf(`${index}`, `r${index}`)]),
    );
    const readAll = (keys: readonly string[]): void => {
      for (const key of keys) {
        const job = jobs.get(key);
        if (job === undefined) continue;
        const known = reads.runtimeOf(job);
        if (known?.isFresh !== true && known?.isBeingRead !== true) reads.read(job);
      }
    };
    const readUntilQuiet = async (keys: readonly string[]): Promise<void> => {
      readAll(keys);
      for (let round = 0; round < 5; round += 1) {
        for (let answers = 0; answers < 600; answers += 1)
          refuse(new KubeApiError({ status: 404, reason: '', message: 'no' }));
        await settle();
        readAll(news.splice(0));
      }
    };
    await readUntilQuiet([...jobs.keys()]);
    expect(asked).toHaveLength(512);
    clock.ms += 30_000;
    await readUntilQuiet([...jobs.keys()].slice(512));
    expect(new Set(asked).size).toBe(600);
    expect(asked).toHaveLength(600);
  });

  it('are none of a job that names none, or nonsense', () => {
    const { reads, asked } = aServer();
    const odd = { ...jobOf('a'), spec: undefined } as unknown as TrainingJob;
    for (const job of [aTrainingJob(), odd]) {
      reads.read(job);
      expect(reads.runtimeOf(job)).toBeUndefined();
    }
    expect(asked).toEqual([]);
  });
});
