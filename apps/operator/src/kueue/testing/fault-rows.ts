/** What administrators and faults do to jobs that hold quota. */
import { waitFor } from '@coxswain/local-cluster';
import { conditionNow, is } from './kueue-ground.ts';
import { admitted, described, must, type Row, since, stays, stillRuns } from './rows.ts';

const OPERATOR = { COXSWAIN_KUEUE: 'true' };

export const FAULT_ROWS: readonly Row[] = [
  {
    sentence: 'A deactivated Workload stops its gang and frees its quota; an activated one brings the job back.',
    run: async (ground) => {
      const [first] = await ground.tenants();
      const job = await ground.job(first, 'gpt');
      await admitted(ground, job);
      must((await ground.editWorkload(job, { spec: { active: false } })) === 200, 'spec.active was refused');
      await ground.ended(job, 'QuotaEvicted');
      await ground.workloadUntil(job, 'released', (found) => !is(found, 'QuotaReserved'));
      const { status } = await ground.waits(job, /is not active/);
      await ground.editWorkload(job, { spec: { active: true } });
      await ground.runs(job);
      return status?.summary;
    },
  },
  {
    sentence:
      'A ClusterQueue that is stopped with HoldAndDrain stops its gangs; when it goes on they come back. One that is only held stops none.',
    run: async (ground) => {
      const [first] = await ground.tenants();
      const job = await ground.job(first, 'gpt');
      await admitted(ground, job);
      await ground.patch(`clusterqueues/${first.clusterQueue}`, { spec: { stopPolicy: 'Hold' } });
      await stays(3_000, 'a held queue stopped the gang', () => stillRuns(ground, job));
      await ground.patch(`clusterqueues/${first.clusterQueue}`, { spec: { stopPolicy: 'HoldAndDrain' } });
      await ground.ended(job, 'QuotaEvicted');
      await ground.workloadUntil(job, 'released', (found) => !is(found, 'QuotaReserved'));
      await ground.patch(`clusterqueues/${first.clusterQueue}`, { spec: { stopPolicy: 'None' } });
      await ground.runs(job);
      return undefined;
    },
  },
  {
    sentence: 'Quota that is lowered under a gang stops nothing; the next job waits until the quota is raised.',
    run: async (ground) => {
      const [first, second] = await ground.tenants();
      await ground.setQuota(second, 0);
      const job = await ground.job(first, 'gpt', { pods: 2 });
      await admitted(ground, job);
      await ground.setQuota(first, 2);
      const next = await ground.job(first, 'next');
      await ground.waits(next, /^Kueue: /);
      await stays(5_000, 'lowered quota stopped the gang', () => stillRuns(ground, job));
      await ground.setQuota(first, 6);
      await admitted(ground, next);
      return undefined;
    },
  },
  {
    sentence:
      'A Workload that is deleted by hand stops nothing and keeps its quota counted; when the gang has ended it goes, and the job that waited begins.',
    run: async (ground) => {
      const [first, second] = await ground.tenants();
      await ground.setQuota(second, 0);
      const job = await ground.job(first, 'gpt', { pods: 2 });
      await admitted(ground, job);
      await ground.deleteWorkload(job);
      const next = await ground.job(first, 'next', { pods: 2 });
      await ground.waits(next, /^Kueue: /);
      await stays(4_000, 'the gang was stopped, or the other job got its quota', async () =>
        [await stillRuns(ground, job), !is(await ground.workload(next), 'QuotaReserved')].every(Boolean),
      );
      await ground.delete(job);
      await admitted(ground, next);
      return undefined;
    },
  },
  {
    sentence:
      'A Workload that vanishes under a gang, finalizer and all, stops nothing: the operator makes another one, and Kueue admits it with the gang that runs.',
    run: async (ground) => {
      const [first] = await ground.tenants();
      const job = await ground.job(first, 'gpt', { pods: 2 });
      await admitted(ground, job);
      ground.auditor.quotaMayBeFree = true;
      const before = await ground.workload(job);
      await ground.editWorkload(job, { metadata: { finalizers: null } });
      await ground.deleteWorkload(job);
      const startedMs = performance.now();
      await ground.workloadUntil(job, 'made and admitted again', (found) =>
        [found.uid !== before?.uid, is(found, 'Admitted'), is(found, 'PodsReady')].every(Boolean),
      );
      must(await stillRuns(ground, job), 'the gang was stopped');
      return `counted again after ${since(startedMs)}`;
    },
  },
  {
    sentence:
      'Kueue refuses a Workload with more pods or another queue while it holds quota; a lower count by hand stops nothing, and no node is given twice.',
    run: async (ground) => {
      const [first, second] = await ground.tenants();
      await ground.setQuota(second, 0);
      const job = await ground.job(first, 'gpt', { pods: 2 });
      await admitted(ground, job);
      const count = async (pods: number): Promise<number> => {
        const { status } = await ground.world.plane.admin.send({
          method: 'PATCH',
          path: `/apis/kueue.x-k8s.io/v1beta2/namespaces/${first.namespace}/workloads/${(await ground.workload(job))?.name ?? ''}`,
          contentType: 'application/json-patch+json',
          body: [{ op: 'replace', path: '/spec/podSets/0/count', value: pods }],
        });
        return status;
      };
      const [raised, requeued] = [await count(3), await ground.editWorkload(job, { spec: { queueName: 'elsewhere' } })];
      must(raised !== 200 && requeued !== 200, `more pods got ${raised}, another queue got ${requeued}`);
      const lowered = await count(1);
      const next = await ground.job(first, 'next');
      await stays(5_000, 'the gang was stopped', () => stillRuns(ground, job));
      const answer = is(await ground.workload(next), 'QuotaReserved') ? 'got' : 'did not get';
      return `more pods: HTTP ${raised}, another queue: ${requeued}, fewer pods: ${lowered}; another job ${answer} the quota`;
    },
  },
  {
    sentence:
      'A Workload that another program finishes stops its gang, which has no quota any more; the operator makes another one, and the job comes back.',
    run: async (ground) => {
      const [first] = await ground.tenants();
      const job = await ground.job(first, 'gpt');
      await admitted(ground, job);
      ground.auditor.quotaMayBeFree = true;
      const before = await ground.workload(job);
      const conditions = [...(before?.conditions ?? [])].map(([type, { isTrue, reason, message, sinceMs }]) => ({
        type,
        status: isTrue ? 'True' : 'False',
        reason,
        message,
        lastTransitionTime: `${new Date(sinceMs).toISOString().slice(0, 19)}Z`,
      }));
      await ground.editWorkloadStatus(job, {
        conditions: [...conditions, { ...conditionNow('Finished'), reason: 'OutOfSync' }],
      });
      await ground.ended(job, 'QuotaEvicted');
      await ground.runs(job);
      must((await ground.workload(job))?.uid !== before?.uid, 'the finished Workload is still there');
      return undefined;
    },
  },
  {
    sentence:
      'Kueue killed in the middle of a preemption: the victim keeps its quota and the claimant waits, over a restart, until the last pod is gone.',
    run: async (ground) => {
      const [first, second] = await ground.tenants();
      const victim = await ground.job(second, 'victim', { pods: 4 });
      await admitted(ground, victim);
      // Its kubelets are away, so its pods do not end.
      ground.world.kubelet.isAwake = false;
      const claimant = await ground.job(first, 'claimant', { pods: 2 });
      await ground.workloadUntil(victim, 'evicted', (found) => is(found, 'Evicted'));
      await ground.kueue.kill();
      const isHeld = async (): Promise<boolean> =>
        is(await ground.workload(victim), 'QuotaReserved') && !is(await ground.workload(claimant), 'QuotaReserved');
      const staysHeld = (ms: number, sentence: string): Promise<void> =>
        stays(ms, sentence, isHeld).catch(async (error: unknown) => {
          const seen = await Promise.all([victim, claimant].map((job) => described(ground, job)));
          throw new Error(`${sentence}: ${seen.join('; ')}`, { cause: error });
        });
      await staysHeld(2_000, 'the quota of running pods was given away');
      await ground.kueue.start();
      await staysHeld(4_000, 'a restarted Kueue gave the quota of running pods away');
      ground.world.kubelet.isAwake = true;
      await admitted(ground, claimant);
      return undefined;
    },
  },
  {
    sentence:
      'While Kueue is away gangs run on, and a gang that ends gives its quota back when Kueue answers again; jobs that name a queue wait, and begin when it is back.',
    run: async (ground) => {
      const [first] = await ground.tenants();
      const [job, ends] = [await ground.job(first, 'gpt'), await ground.job(first, 'ends')];
      await admitted(ground, job);
      await admitted(ground, ends);
      await ground.kueue.kill();
      const next = await ground.job(first, 'next');
      await ground.delete(ends);
      await stays(4_000, 'the gang was stopped', () => stillRuns(ground, job));
      must((await ground.pods(next)).length === 0, 'a job began without Kueue');
      const { status } = await ground.read(next);
      await ground.kueue.start();
      const backMs = performance.now();
      await admitted(ground, next);
      await waitFor(async () => (await ground.workload(ends)) === undefined, {
        what: 'the Workload of the deleted job',
      });
      return `it said "${status?.summary ?? ''}" and ran ${since(backMs)} after Kueue was back`;
    },
  },
  {
    sentence:
      'The operator killed between the eviction and the release, and again before the victim returns: the quota stays counted, the next operator releases, and no node is given twice.',
    ownOperator: true,
    run: async (ground) => {
      const [first, second] = await ground.tenants();
      const one = await ground.world.operatorProcess({ environment: OPERATOR });
      const victim = await ground.job(second, 'victim', { pods: 4 });
      await admitted(ground, victim);
      ground.world.kubelet.isAwake = false;
      const claimant = await ground.job(first, 'claimant', { pods: 2 });
      await ground.workloadUntil(victim, 'evicted', (found) => is(found, 'Evicted'));
      await one.kill();
      ground.world.kubelet.isAwake = true;
      await stays(3_000, 'quota was released without an operator', async () =>
        is(await ground.workload(victim), 'QuotaReserved'),
      );
      const other = await ground.world.operatorProcess({ environment: OPERATOR });
      await ground.ended(victim, 'QuotaEvicted');
      await ground.workloadUntil(claimant, 'admitted', (found) => is(found, 'Admitted'));
      await other.kill();
      const last = await ground.world.operatorProcess({ environment: OPERATOR });
      await admitted(ground, claimant);
      await ground.delete(claimant);
      await ground.runs(victim);
      await last.kill();
      return undefined;
    },
  },
  {
    sentence:
      'Kueue uninstalled in the middle: the gang runs on; when the job is deleted its Workload and the definitions go; after a new installation jobs are queued again.',
    run: async (ground) => {
      const [first] = await ground.tenants();
      const job = await ground.job(first, 'gpt', { pods: 2 });
      await admitted(ground, job);
      ground.auditor.quotaMayBeFree = true;
      await ground.kueue.uninstall();
      const next = await ground.job(first, 'next');
      await stays(8_000, 'the gang was stopped', () => stillRuns(ground, job));
      must((await ground.pods(next)).length === 0, 'a queued job began without Kueue');
      const isHeld = await ground.kueue.isInstalled();
      await ground.delete(job);
      await waitFor(async () => !(await ground.kueue.isInstalled()), { what: 'the definitions of Kueue to be gone' });
      const { status } = await ground.read(next);
      await ground.delete(next);
      await ground.kueue.install();
      await ground.settings();
      const [again] = await ground.tenants();
      await admitted(ground, await ground.job(again, 'after'));
      return `the definitions ${isHeld ? 'stayed until the gang had ended' : 'went at once'}; a queued job said "${status?.summary ?? ''}"`;
    },
  },
];
