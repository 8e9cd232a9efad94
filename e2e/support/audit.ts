import { LABELS, type Attempt, type Checkpoint, type Job, type Placement, type TrainingJob } from '@coxswain/api-types';
import { waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import type { TestProject } from './project.ts';

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
  readonly status: { readonly phase: string };
}

async function list<T>(system: CoxswainSystem, namespace: string, plural: string): Promise<readonly T[]> {
  return (JSON.parse(await system.plane.kubectl(['-n', namespace, 'get', plural, '-o', 'json'])) as { items: T[] })
    .items;
}

async function rows(project: TestProject): Promise<readonly Job[]> {
  const found: Job[] = [];
  for await (const { id, state } of project.api.jobs(project.name)) {
    if (state !== 'Deleted') found.push(await project.api.job({ project: project.name, id }));
  }
  return found;
}

/** Every way in which a row differs from its resource; empty when rows equal the cluster. */
export async function differences(system: CoxswainSystem, project: TestProject): Promise<readonly string[]> {
  const [jobs, resources, checkpoints] = await Promise.all([
    rows(project),
    list<TrainingJob>(system, project.name, 'trainingjobs'),
    list<Checkpoint>(system, project.name, 'checkpoints'),
  ]);
  const byUid = new Map(jobs.map((job) => [job.uid, job]));
  const found: string[] = [];
  for (const { metadata, spec, status } of resources) {
    const row = byUid.get(metadata.uid);
    if (row === undefined) {
      found.push(`${metadata.name} has no row`);
      continue;
    }
    byUid.delete(metadata.uid);
    const compare = (what: string, inRow: unknown, inCluster: unknown): void => {
      if (JSON.stringify(inRow) !== JSON.stringify(inCluster))
        found.push(
          `${metadata.name}: ${what} is ${JSON.stringify(inRow)} in the row, ${JSON.stringify(inCluster)} in the cluster`,
        );
    };
    compare('state', row.state, status?.state);
    compare('summary', row.summary, status?.summary);
    compare('epoch', row.epoch, status?.epoch ?? 0);
    compare('restarts', [row.restarts.total, row.restarts.charged], [status?.restarts.total, status?.restarts.charged]);
    compare('checkpoint', row.checkpoint?.step ?? null, status?.checkpoint?.step ?? null);
    compare('layout', sorted(row.spec.layout ?? {}), sorted(spec.layout ?? {}));
    compare(
      'attempts',
      row.attempts.map((attempt) => [attempt.epoch, attempt.outcome]),
      (status?.attempts ?? []).map((attempt) => [attempt.epoch, attempt.outcome]),
    );
    const mirrored = await project.api.checkpoints({ project: project.name, id: row.id });
    compare(
      'checkpoints',
      mirrored.items
        .filter((item) => item.deletedAt === null)
        .map((item) => item.name)
        .sort(),
      checkpoints
        .filter((item) => item.spec.jobUid === metadata.uid)
        .map((item) => item.metadata.name)
        .sort(),
    );
  }
  for (const row of byUid.values()) found.push(`row ${row.name} (${row.state}) has no resource`);
  return found;
}

function sorted(layout: object): unknown {
  return Object.entries(layout).sort(([a], [b]) => a.localeCompare(b));
}

/** Waits until rows equal the cluster; fails with the differences that are left. */
export async function expectRowsToEqualCluster(system: CoxswainSystem, project: TestProject): Promise<void> {
  let left: readonly string[] = [];
  await waitFor(
    async () => {
      left = await differences(system, project);
      return left.length === 0;
    },
    { intervalMs: 250, what: 'rows to equal the cluster' },
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}:\n${left.join('\n')}`);
  });
}

/**
 * Broken invariants of a namespace: more than one live gang of a job, an epoch counted twice, pods or placements without an owner. What
 * Kubernetes collects after its owner is gone goes in its own time (the collector learns of custom resources every 30 s): such an orphan
 * breaks the invariant only when it stays.
 */
export async function brokenInvariants(system: CoxswainSystem, namespace: string): Promise<readonly string[]> {
  const [pods, jobs] = await Promise.all([
    list<Pod>(system, namespace, 'pods'),
    list<TrainingJob>(system, namespace, 'trainingjobs'),
  ]);
  return [...jobs.flatMap((job) => brokenBy(job, pods)), ...(await lastingOrphans(system, namespace))];
}

function brokenBy(job: TrainingJob, pods: readonly Pod[]): readonly string[] {
  const found: string[] = [];
  const live = pods.filter(
    (pod) =>
      pod.metadata.labels[LABELS.jobUid] === job.metadata.uid && ['Pending', 'Running'].includes(pod.status.phase),
  );
  const epochs = new Set(live.map((pod) => pod.metadata.labels[LABELS.epoch]));
  if (epochs.size > 1) found.push(`${job.metadata.name} has live pods of epochs ${[...epochs].join(', ')}`);
  const attempted = (job.status?.attempts ?? []).map((attempt) => attempt.epoch);
  if (new Set(attempted).size !== attempted.length)
    found.push(`${job.metadata.name} lists an epoch twice: ${attempted.join(', ')}`);
  const charged = (job.status?.attempts ?? []).reduce((sum, attempt) => sum + chargedFailuresOf(attempt), 0);
  if ((job.status?.restarts.charged ?? 0) > charged)
    found.push(`${job.metadata.name} charged ${job.status?.restarts.charged} restarts for ${charged} failures`);
  return found;
}

/** Of its end, and of the incarnations before the last; status forgets the oldest of those, which then may have been charged. */
function chargedFailuresOf({ outcome, charged, incarnation = 1, incarnations = [] }: Attempt): number {
  const forgotten = incarnation - 1 - incarnations.length;
  const restarted = incarnations.filter((one) => one.charged).length;
  return forgotten + restarted + (outcome === 'Failed' && charged === true ? 1 : 0);
}

async function lastingOrphans(system: CoxswainSystem, namespace: string): Promise<readonly string[]> {
  let left: readonly string[] = [];
  const areGone = async (): Promise<boolean> => {
    left = await orphans(system, namespace);
    return left.length === 0;
  };
  const waiting = { intervalMs: 500, what: 'what has no owner to be collected' };
  return waitFor(areGone, waiting).then(
    () => [],
    (error: unknown) => [String(error), ...left],
  );
}

async function orphans(system: CoxswainSystem, namespace: string): Promise<readonly string[]> {
  const [pods, placements] = await Promise.all([
    list<Pod>(system, namespace, 'pods'),
    list<Placement>(system, namespace, 'placements'),
  ]);
  // After what they own, so that a job that was made meanwhile is among them.
  const uids = new Set((await list<TrainingJob>(system, namespace, 'trainingjobs')).map((job) => job.metadata.uid));
  return [
    ...pods
      .filter((pod) => !(pod.metadata.ownerReferences ?? []).some((owner) => uids.has(owner.uid)))
      .map((pod) => `pod ${pod.metadata.name} has no owner`),
    ...placements
      .filter((placement) => !uids.has(placement.spec.jobUid))
      .map((placement) => `placement ${placement.metadata.name} has no owner`),
  ];
}
