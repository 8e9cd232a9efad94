import type { TrainingJob } from '@coxswain/api-types';
import { anAttempt } from '@coxswain/api-types/testing';
import { checkpointName } from '@coxswain/checkpoint';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import type { KubeObject } from '@coxswain/kube';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { CheckpointQuota } from './checkpoint-quota.ts';
import { KubernetesReportPorts } from './kubernetes-report-ports.ts';

const KEPT = 2;
const MOST = 2 * KEPT + 100;

/** A job that runs, one launcher of it, and what is made for it when that says that it has saved a step. */
function aWorld() {
  const script = new CacheScript();
  const status = { epoch: 1, restarts: { total: 0, charged: 0 }, attempts: [anAttempt({ stage: 'Released' })] };
  const job: TrainingJob = script.job('tiny', { status });
  const made: string[] = [];
  const reads: string[] = [];
  const ports = new KubernetesReportPorts({
    client: {
      get: async <T>(path: string) => {
        reads.push(path);
        return job as T;
      },
    },
    cache: script.cache,
    store: { createCheckpoint: async (_job, { name }) => void made.push(name) },
    term: () => 1,
    currentLeader: () => undefined,
    checkpointsKept: KEPT,
    clock: script.clock,
  });
  const { name: jobName, uid: jobUid } = job.metadata;
  const pod = { namespace: 'research', jobName, jobUid, epoch: 1, podIndex: 0, ranks: [0, 1] };
  const { format, bytes, files, manifestSha256 } = aCheckpoint().spec;
  const save = (step: number) =>
    ports.recordCheckpoint(pod, {
      step,
      directory: `step-${step}`,
      format,
      bytes,
      files,
      manifestSha256,
      incarnation: 1,
    });
  /** How many of so many steps, saved at once from that one on, are made. */
  const saveMany = async (count: number, from = 1): Promise<number> => {
    const before = made.length;
    for (let step = from; step < from + count; step += 1) await save(step).catch(() => undefined);
    return made.length - before;
  };
  const nameOf = (step: number): string => checkpointName(job.metadata, { epoch: 1, step });
  const show = (step: number): void => {
    const checkpoint = aCheckpoint({ jobUid, epoch: 1, step });
    const metadata = { ...checkpoint.metadata, name: nameOf(step), uid: `checkpoint-${step}`, resourceVersion: '1' };
    script.cache.checkpoints.cached.upsert({ ...checkpoint, metadata } as typeof checkpoint & KubeObject);
  };
  return { script, job, ports, made, reads, save, saveMany, nameOf, show };
}

describe('a launcher that says that it has saved a checkpoint', () => {
  it('is not believed beyond the last step of its job, and nothing is asked for that', async () => {
    const { job, made, reads, save, nameOf } = aWorld();
    const last = job.spec.training?.steps ?? 0;
    expect(last).toBeGreaterThan(1);
    expect([await save(last + 1), reads]).toEqual(['unwanted', []]);
    expect([await save(last), made]).toEqual(['recorded', [nameOf(last)]]);
  });

  it('gets twenty at once, then one a second, and is told to come again in between, without a read', async () => {
    const { script, reads, save, saveMany } = aWorld();
    expect(await saveMany(50)).toBe(20);
    expect(reads).toHaveLength(20);
    await expect(save(51)).rejects.toThrow('faster');
    await script.clock.advance(3_000);
    expect(await saveMany(50)).toBe(3);
    await script.clock.advance(3_600_000);
    expect(await saveMany(50)).toBe(20);
  });

  it('gets no more once there are a hundred beyond twice those that are kept, until some are deleted', async () => {
    const { made, save, nameOf, script, show } = aWorld();
    for (let step = 1; step <= MOST + 1; step += 1) if (step !== 100) show(step);
    await expect(save(100)).rejects.toThrow('no more are made');
    // Said again, because the answer was lost.
    expect([await save(99), made]).toEqual(['recorded', [nameOf(99)]]);
    script.cache.checkpoints.rememberGone('checkpoint-1');
    expect(await save(100)).toBe('recorded');
  });

  it('of a job that is gone gets none', async () => {
    const { script, job, ports, made, save } = aWorld();
    await save(1);
    script.jobDeleted(job);
    ports.forget(job.metadata.uid);
    await expect(save(2)).rejects.toThrow('is not in the cache');
    expect(made).toHaveLength(1);
  });
});

describe('the quota of checkpoints', () => {
  it("is each job's own, and nothing is held for one that is forgotten", async () => {
    const quota = new CheckpointQuota({ kept: KEPT, clock: new CacheScript().clock });
    for (let taken = 0; taken < 20; taken += 1) quota.take('one');
    expect(() => quota.take('one')).toThrow('faster');
    quota.take('another');
    expect(quota.size).toBe(2);
    quota.forget('one');
    quota.forget('another');
    expect(quota.size).toBe(0);
  });
});
