/** What a queue does for its users: wait, begin, borrow, reclaim, return, end. */
import type { TrainingJob } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { CHECK, conditionNow, is, KUEUE, OTHER_CHECK } from './kueue-ground.ts';
import { PODS_READY_SECONDS } from './real-kueue.ts';
import { admitted, must, type Row, since, stays, stillRuns } from './rows.ts';

export const ADMISSION_ROWS: readonly Row[] = [
  {
    sentence:
      'A ClusterQueue is inactive until the operator marks the AdmissionCheck Active; then a job gets a Workload, the check is Ready, Kueue admits, and the gang begins on nodes of the flavour.',
    ownOperator: true,
    run: async (ground) => {
      const [first] = await ground.tenants();
      const job = await ground.job(first, 'gpt', { pods: 2 });
      const isActive = async (): Promise<string | undefined> => {
        const { status } = await ground.get(`clusterqueues/${first.clusterQueue}`);
        return status?.conditions?.find(({ type }) => type === 'Active')?.status;
      };
      const wasActive = (await ground.get(`admissionchecks/${CHECK}`)).status?.conditions?.length;
      if (wasActive === undefined)
        await waitFor(async () => (await isActive()) === 'False', { what: 'the ClusterQueue to be inactive' });
      await ground.world.operator({ environment: { COXSWAIN_KUEUE: 'true' } });
      await waitFor(async () => (await isActive()) === 'True', { what: 'the ClusterQueue to be active' });
      await admitted(ground, job);
      const nodes = await ground.nodesOf(job);
      must(
        nodes.length === 2 && nodes.every((node) => node.startsWith('a-')),
        `the gang is on ${nodes.join(', ')}, outside the flavour`,
      );
      return undefined;
    },
  },
  {
    sentence: 'A job without quota waits with the message of Kueue, and has no pod.',
    run: async (ground) => {
      const [first] = await ground.tenants();
      const job = await ground.job(first, 'gpt', { pods: 5 });
      const { status } = await ground.waits(job, /^Kueue: .*insufficient|maximum capacity/);
      must((await ground.pods(job)).length === 0, 'the waiting job has pods');
      return status?.summary;
    },
  },
  {
    sentence:
      'A job with reserved quota and no free nodes is not admitted, and the check has the reason; when nodes are free the check is Ready and the gang begins.',
    run: async (ground) => {
      const [first] = await ground.tenants();
      const blockers = await Promise.all(
        ['v', 'w', 'x', 'y', 'z'].map((name) => ground.job(first, name, { isUnqueued: true })),
      );
      await Promise.all(blockers.map((one) => ground.runs(one)));
      const job = await ground.job(first, 'gpt');
      const pending = await ground.workloadUntil(job, 'refused nodes by the check', ({ checks }) =>
        checks.some(({ name, state, message }) => name === CHECK && state === 'Pending' && message !== ''),
      );
      must(!is(pending, 'Admitted'), 'the Workload is admitted without nodes');
      await Promise.all(blockers.map((one) => ground.delete(one)));
      const freedMs = performance.now();
      await admitted(ground, job);
      return `the check said "${pending.checks[0]?.message ?? ''}"; the gang ran ${since(freedMs)} after the others were deleted`;
    },
  },
  {
    sentence:
      'A tenant borrows all GPUs of the cohort; when the other one asks for its share Kueue preempts, the gang saves and stops, the attempt records why without a charge, the quota is released after the last pod, and the claimant begins; the victim returns when there is room.',
    run: async (ground) => {
      const [first, second] = await ground.tenants();
      const borrower = await ground.job(second, 'borrower', { pods: 4 });
      await admitted(ground, borrower);
      const claimant = await ground.job(first, 'claimant', { pods: 2 });
      const askedMs = performance.now();
      const stopped = await ground.ended(borrower, 'QuotaEvicted');
      await admitted(ground, claimant);
      const took = since(askedMs);
      const released = await ground.workload(borrower);
      must(!is(released, 'QuotaReserved') && is(released, 'Requeued'), 'the victim was not released and requeued');
      must(
        /preempted to accommodate a workload/i.test(stopped.status?.attempts?.at(-1)?.message ?? ''),
        `the attempt does not say who preempted it: ${stopped.status?.attempts?.at(-1)?.message ?? ''}`,
      );
      await ground.delete(claimant);
      await ground.runs(borrower);
      const { status } = await ground.read(borrower);
      must(status?.attempts?.at(-1)?.epoch === 2, 'the victim did not begin a second attempt');
      return `from the request to the claimant’s start ${took}`;
    },
  },
  {
    sentence: 'Within one queue a job of higher WorkloadPriorityClass preempts one of lower.',
    run: async (ground) => {
      const [first, second] = await ground.tenants();
      for (const [name, value] of [
        ['low', 10],
        ['high', 1_000],
      ] as const)
        await ground.world.plane.admin.json({
          method: 'POST',
          path: `${KUEUE}/workloadpriorityclasses`,
          body: { apiVersion: KUEUE.slice(6), kind: 'WorkloadPriorityClass', metadata: { name }, value },
        });
      await ground.setQuota(second, 0);
      const low = await ground.job(first, 'low', { pods: 2, labels: { 'kueue.x-k8s.io/priority-class': 'low' } });
      await admitted(ground, low);
      const high = await ground.job(first, 'high', { pods: 2, labels: { 'kueue.x-k8s.io/priority-class': 'high' } });
      await ground.ended(low, 'QuotaEvicted');
      await admitted(ground, high);
      return undefined;
    },
  },
  {
    sentence: 'A preempted job is admitted again before a younger one of its queue.',
    run: async (ground) => {
      const [first, second] = await ground.tenants();
      const old = await ground.job(second, 'old', { pods: 4 });
      await admitted(ground, old);
      const claimant = await ground.job(first, 'claimant', { pods: 2 });
      await ground.ended(old, 'QuotaEvicted');
      await admitted(ground, claimant);
      // Workloads of the same second have no order between them.
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      const young = await ground.job(second, 'young', { pods: 4 });
      await ground.workloadUntil(young, 'there', () => true);
      await ground.delete(claimant);
      await ground.runs(old);
      must(!is(await ground.workload(young), 'QuotaReserved'), 'the younger job got quota first');
      must(!is(await ground.workload(old), 'Evicted'), 'condition Evicted is still True');
      return undefined;
    },
  },
  {
    sentence:
      'A job that ends finishes its Workload, and a deleted one takes it away; both free the quota for the job that waits.',
    run: async (ground) => {
      const [first, second] = await ground.tenants();
      await ground.setQuota(second, 0);
      const [ends, waits, last] = [
        await ground.job(first, 'ends', { pods: 2 }),
        await ground.job(first, 'waits', { pods: 2 }),
        await ground.job(first, 'last', { pods: 2 }),
      ];
      const jobs = [ends, waits, last];
      const nextAdmitted = (among: readonly TrainingJob[]): Promise<TrainingJob> =>
        waitFor(
          async () => {
            for (const job of among) if (is(await ground.workload(job), 'Admitted')) return job;
            return undefined;
          },
          { what: 'one of the jobs to be admitted' },
        );
      const admittedOne = await nextAdmitted(jobs);
      await admitted(ground, admittedOne);
      const { fateOf } = ground.world.kubelet;
      const name = admittedOne.metadata.name;
      ground.world.kubelet.fateOf = (pod) => (pod.jobName === name ? { kind: 'exits', code: 0 } : { kind: 'runs' });
      await ground.workloadUntil(admittedOne, 'finished', (found) => is(found, 'Finished') && !found.hasFinalizer);
      ground.world.kubelet.fateOf = fateOf;
      const left = jobs.filter((job) => job !== admittedOne);
      const next = await nextAdmitted(left);
      await ground.runs(next);
      await ground.delete(next);
      await waitFor(async () => (await ground.workload(next)) === undefined, { what: 'its Workload to be gone' });
      for (const job of left.filter((one) => one !== next)) await admitted(ground, job);
      return undefined;
    },
  },
  {
    sentence:
      'Kueue, which evicts Workloads whose pods are not ready in time, is told that the gang has started, and lets it run.',
    run: async (ground) => {
      const [first] = await ground.tenants();
      const job = await ground.job(first, 'gpt', { pods: 2 });
      await admitted(ground, job);
      await ground.workloadUntil(job, 'ready', (found) => is(found, 'PodsReady'));
      await stays((PODS_READY_SECONDS + 5) * 1_000, 'the gang was stopped', () => stillRuns(ground, job));
      return `${PODS_READY_SECONDS + 5} s with a timeout of ${PODS_READY_SECONDS} s`;
    },
  },
  {
    sentence: 'A check of another program that answers Retry evicts; the job is released and returns after it.',
    run: async (ground) => {
      const [first] = await ground.tenants([CHECK, OTHER_CHECK]);
      const job = await ground.job(first, 'gpt');
      const answer = async (state: string): Promise<void> => {
        const found = await ground.workloadUntil(job, 'asked about the other check', ({ checks, conditions }) =>
          [
            checks.some(({ name, state: is_ }) => name === OTHER_CHECK && is_ === 'Pending'),
            checks.some(({ name, state: is_ }) => name === CHECK && is_ === 'Ready'),
            conditions.get('QuotaReserved')?.isTrue === true,
          ].every(Boolean),
        );
        const { lastTransitionTime } = conditionNow('x') as unknown as { readonly lastTransitionTime: string };
        const admissionChecks = found.checks.map((check) => ({
          ...check,
          lastTransitionTime,
          ...(check.name === OTHER_CHECK ? { state, message: 'by hand' } : {}),
        }));
        await ground.editWorkloadStatus(job, { admissionChecks });
      };
      await answer('Retry');
      // Condition Requeued is written with the release, and Kueue may reserve again at once.
      await ground.workloadUntil(job, 'released', (found) => found.conditions.has('Requeued'));
      await answer('Ready');
      await admitted(ground, job);
      return undefined;
    },
  },
  {
    sentence:
      'In a namespace with a LocalQueue named default, Kueue leaves the pods of a job with the label alone; the pods of a job without it get a gate of Kueue.',
    run: async (ground) => {
      const [first] = await ground.tenants();
      await ground.localQueue(first.namespace, 'default', first.clusterQueue);
      const labelled = await ground.job(first, 'labelled');
      await admitted(ground, labelled);
      const [pod] = await ground.pods(labelled);
      must(
        !(pod?.metadata.finalizers ?? []).some((one) => one.includes('kueue')),
        'Kueue put a finalizer on a pod of ours',
      );
      const plain = await ground.job(first, 'plain', { isUnqueued: true });
      const gated = await waitFor(
        async () => (await ground.pods(plain)).find(({ metadata }) => metadata.labels?.['kueue.x-k8s.io/managed']),
        { what: 'a pod that Kueue manages' },
      );
      return `gates of the other one: ${(gated.spec.schedulingGates ?? []).map(({ name }) => name).join(', ')}`;
    },
  },
];
