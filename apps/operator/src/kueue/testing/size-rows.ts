/** How a job with `minGpus` changes its quota when it goes on with fewer pods, and asks for more of it before it grows. */
import type { TrainingJob } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { Repeating } from '../../testing/repeating.ts';
import { is, KUEUE, type KueueGround, type Tenant } from './kueue-ground.ts';
import { admitted, must, type Row, since, stays } from './rows.ts';

/** Waits of seconds, and growth that always pays: no rank trains here. */
const ENVIRONMENT = {
  COXSWAIN_KUEUE: 'true',
  COXSWAIN_NODE_GRACE_MS: '1000',
  COXSWAIN_AVOIDED_NODE_MS: '1000',
  COXSWAIN_STOPPING_TIMEOUT_MS: '2000',
  COXSWAIN_SHRINK_AFTER_MS: '4000',
  COXSWAIN_GROW_AFTER_MS: '2000',
  COXSWAIN_GROW_COSTS: '0',
};

const ELASTIC = { pods: 2, fewestPods: 1 };

export const SIZE_ROWS: readonly Row[] = [
  {
    sentence:
      'A job that fails while a node takes no pods goes on with one pod of two: its Workload asks for one, and another job gets the quota of the other.',
    ownOperator: true,
    run: (ground) =>
      withNodes(ground, ['a-0', 'a-1'], async () => {
        const first = await tenantOfFour(ground);
        await ground.world.operator({ environment: ENVIRONMENT });
        const job = await ground.job(first, 'gpt', ELASTIC);
        await admitted(ground, job);
        const before = await ground.workload(job);
        const next = await ground.job(first, 'next');
        await ground.waits(next, /^Kueue: /);
        const { kubelet, plane } = ground.world;
        await plane.kubectl(['cordon', 'a-1']);
        const failedMs = performance.now();
        kubelet.fateOf = (pod) =>
          pod.jobName === 'gpt' && pod.epoch === 1 ? { kind: 'exits', code: 1 } : { kind: 'runs' };
        try {
          const { uid } = await ground.workloadUntil(job, 'for one pod', ({ gpus }) => gpus === 2);
          const shrunkMs = performance.now();
          await ground.workloadUntil(next, 'reserved', (found) => is(found, 'QuotaReserved'));
          const gotAfter = since(shrunkMs);
          await runsOn(ground, job, 1);
          must(uid === before?.uid, 'another Workload was made');
          return `the other job got the quota ${gotAfter} after the Workload asked for less, ${since(failedMs)} after the failure`;
        } finally {
          kubelet.fateOf = () => ({ kind: 'runs' });
          await plane.kubectl(['uncordon', 'a-1']);
        }
      }),
  },
  {
    sentence:
      'A gang on one pod asks for the quota of two in a second Workload when a node is free; Kueue admits it and finishes the first one; the gang goes on with two pods at its next save, with another operator.',
    ownOperator: true,
    run: (ground) =>
      withNodes(ground, ['a-0'], async (_lose, restore) => {
        const first = await tenantOfFour(ground);
        const killed = await ground.world.operatorProcess({ environment: ENVIRONMENT });
        const job = await ground.job(first, 'gpt', ELASTIC);
        await admitted(ground, job);
        await runsOn(ground, job, 1);
        const before = await ground.workload(job);
        must(before?.gpus === 2, `the Workload asks for ${before?.gpus} GPUs`);
        await restore('a-1');
        const freeMs = performance.now();
        await ground.workloadUntil(job, 'admitted for two pods', (found) =>
          [found.gpus === 4, is(found, 'Admitted'), found.uid !== before?.uid, found.hasFinalizer].every(Boolean),
        );
        const admittedAfter = since(freeMs);
        await waitFor(async () => (await ground.workloads(job)).length === 1, {
          what: 'the first Workload to be gone',
        });
        await killed.kill();
        await ground.world.operator({ identity: 'second', environment: ENVIRONMENT });
        // The other operator first sees for two seconds that the node is free.
        let step = 0;
        const saves = new Repeating(2_000, () => ground.saved(job, (step += 10)));
        saves.start();
        await runsOn(ground, job, 2).finally(() => saves.stop());
        const { status } = await ground.read(job);
        const reasons = status?.attempts?.map(({ reason }) => reason ?? '-').join(', ');
        must(reasons === 'GpusFree, -', `the attempts ended with ${reasons}`);
        must((await ground.workload(job))?.gpus === 4, 'the quota of two pods is not counted any more');
        return `admitted for two pods ${admittedAfter} after the node was ready`;
      }),
  },
  {
    sentence: 'A gang on one pod grows on quota that belongs to a cohort above its own.',
    ownOperator: true,
    run: (ground) =>
      withNodes(ground, ['a-0'], async (_lose, restore) => {
        const first = await tenantOfFour(ground);
        await ground.setQuota(first, 2);
        await ground.parentWith(first, 2);
        await ground.world.operator({ environment: ENVIRONMENT });
        const job = await ground.job(first, 'gpt', ELASTIC);
        await runsOn(ground, job, 1);
        await restore('a-1');
        await ground.workloadUntil(job, 'admitted for two pods', (found) => found.gpus === 4 && is(found, 'Admitted'));
        return undefined;
      }),
  },
  {
    sentence:
      'A gang on one pod asks for no more while another job holds the quota: that job is not preempted, and status says what the growth waits for.',
    ownOperator: true,
    run: (ground) =>
      withNodes(ground, ['a-0'], async (_lose, restore) => {
        const first = await tenantOfFour(ground);
        await priorityClass(ground, 'larger', 10_000);
        await ground.world.operator({ environment: ENVIRONMENT });
        const labels = { 'kueue.x-k8s.io/priority-class': 'larger' };
        const job = await ground.job(first, 'gpt', { ...ELASTIC, labels });
        await runsOn(ground, job, 1);
        await restore('a-1');
        const other = await ground.job(first, 'other');
        await ground.runs(other);
        await restore('a-2');
        await fullSize(ground, job, 'WaitingForQuota');
        await stays(6_000, 'a second Workload was made, or the other job was stopped', async () => {
          const isAlone = (await ground.workloads(job)).length === 1;
          return isAlone && !is(await ground.workload(other), 'Evicted');
        });
        await ground.delete(other);
        await ground.workloadUntil(job, 'admitted for two pods', (found) => found.gpus === 4 && is(found, 'Admitted'));
        await fullSize(ground, job, 'WaitingForSave');
        return undefined;
      }),
  },
  {
    sentence: 'A gang whose growth is over, because its node was taken away, gives the quota of the second pod back.',
    ownOperator: true,
    run: (ground) =>
      withNodes(ground, ['a-0'], async (lose, restore) => {
        const first = await tenantOfFour(ground);
        await ground.world.operator({ environment: ENVIRONMENT });
        const job = await ground.job(first, 'gpt', ELASTIC);
        await runsOn(ground, job, 1);
        await restore('a-1');
        await ground.workloadUntil(job, 'admitted for two pods', (found) => found.gpus === 4 && is(found, 'Admitted'));
        await lose('a-1');
        const lostMs = performance.now();
        await ground.workloadUntil(job, 'for one pod', ({ gpus }) => gpus === 2);
        const given = since(lostMs);
        await runsOn(ground, job, 1);
        return `given back ${given} after the node was lost`;
      }),
  },
  {
    sentence:
      'A job that waits for quota asks for one pod of two when the quota of one is free, by a change of its Workload, and begins.',
    ownOperator: true,
    run: (ground) =>
      withNodes(ground, ['a-0', 'a-1'], async () => {
        const first = await tenantOfFour(ground);
        await ground.world.operator({ environment: ENVIRONMENT });
        const other = await ground.job(first, 'other');
        await admitted(ground, other);
        const job = await ground.job(first, 'gpt', ELASTIC);
        const { uid } = await ground.workloadUntil(job, 'there', () => true);
        const startedMs = performance.now();
        await runsOn(ground, job, 1);
        must((await ground.workload(job))?.uid === uid, 'another Workload was made');
        return `ran on one pod ${since(startedMs)} after it asked for two`;
      }),
  },
];

/** A tenant with quota of two pods, and nothing to borrow. */
async function tenantOfFour(ground: KueueGround): Promise<Tenant> {
  const [first, second] = await ground.tenants();
  await ground.setQuota(second, 0);
  return first;
}

type OfNode = (name: string) => Promise<void>;

/** Only these nodes of the flavour are ready at first. All are ready afterwards. */
async function withNodes(
  { world }: KueueGround,
  ready: readonly string[],
  run: (lose: OfNode, restore: OfNode) => Promise<string | undefined>,
): Promise<string | undefined> {
  const others = ['a-0', 'a-1', 'a-2', 'a-3'].filter((name) => !ready.includes(name));
  const lost = new Set<string>();
  const lose = async (name: string): Promise<void> => {
    lost.add(name);
    await world.loseNode(name);
  };
  const restore = async (name: string): Promise<void> => {
    lost.delete(name);
    await world.restoreNode(name);
  };
  try {
    for (const name of others) await lose(name);
    return await run(lose, restore);
  } finally {
    for (const name of [...lost]) await restore(name);
  }
}

/** Waits until the job runs on that many pods of two GPUs. */
async function runsOn(ground: KueueGround, job: TrainingJob, pods: number): Promise<void> {
  await ground.world.until(job, `running on ${pods} pods`, ({ status }) => {
    const { layout, stage } = status?.attempts?.at(-1) ?? {};
    const gpus = (layout?.tensorParallelDegree ?? 0) * (layout?.dataParallelDegree ?? 0);
    return (
      status?.state === 'Running' && stage === 'Released' && gpus * (layout?.pipelineParallelDegree ?? 1) === 2 * pods
    );
  });
}

async function fullSize(ground: KueueGround, job: TrainingJob, reason: string): Promise<void> {
  await ground.world.until(job, `not growing for ${reason}`, ({ status }) =>
    (status?.conditions ?? []).some((one) => one.type === 'AtFullSize' && one.reason === reason),
  );
}

async function priorityClass({ world }: KueueGround, name: string, value: number): Promise<void> {
  const body = { apiVersion: KUEUE.slice(6), kind: 'WorkloadPriorityClass', metadata: { name }, value };
  await world.plane.admin.send({ method: 'POST', path: `${KUEUE}/workloadpriorityclasses`, body });
}
