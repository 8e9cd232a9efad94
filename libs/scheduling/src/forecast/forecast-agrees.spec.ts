/** Does the forecast expect what the scheduler does? Both see the same small cluster, whose jobs end exactly as predicted. */
import type { TrainingJob } from '@coxswain/api-types';
import { servingsOf } from '../order/in-order.ts';
import { VirtualCluster, type VirtualJob } from '../testing/virtual-cluster.ts';
import { forecastCluster } from './cluster-forecast.ts';

const job = (name: string, pods: number, minutes: number, rest: Partial<VirtualJob> = {}): VirtualJob => ({
  ...{ name, pods, minutes },
  ...rest,
});

/** Minutes until the expected start of each job that waits, with and without the starts that the scheduler recorded. */
function expected(cluster: VirtualCluster, withRecorded: boolean): Readonly<Record<string, number>> {
  const { view } = cluster;
  const now = view.now?.() ?? new Date(0);
  const jobs = [...view.jobs()].map((one) => (withRecorded ? one : withoutRecord(one)));
  const placements = [...view.placements()].map(({ spec }) => spec);
  const forecast = forecastCluster({
    now,
    nodes: [...view.nodes()].map(({ name }) => ({ name, gpus: 8, type: 'any' })),
    placed: placements.flatMap(({ jobUid, nodes }) =>
      jobs
        .filter(({ metadata }) => metadata.uid === jobUid)
        .map((one) => ({ job: one, pods: nodes.map((node) => ({ node, gpus: 8 })) })),
    ),
    waiting: jobs.filter(({ metadata }) => placements.every(({ jobUid }) => jobUid !== metadata.uid)),
    servings: servingsOf(jobs),
  });
  return Object.fromEntries(
    forecast.jobs.map(({ uid, start }) => [uid, Math.round(((start?.atMs ?? 0) - now.getTime()) / 60_000)]),
  );
}

function withoutRecord(one: TrainingJob): TrainingJob {
  if (one.status === undefined) return one;
  const { expectedStart: _recorded, ...status } = one.status;
  return { ...one, status };
}

/** Minutes until each of these jobs starts in fact. */
function actual(cluster: VirtualCluster, waiting: readonly string[]): Readonly<Record<string, number>> {
  const from = cluster.minutes;
  const starts: Record<string, number> = {};
  while (!cluster.isIdle && waiting.some((name) => starts[name] === undefined)) {
    cluster.nextEnd();
    for (const name of waiting) if (cluster.started.includes(name)) starts[name] ??= Math.round(cluster.minutes - from);
  }
  return starts;
}

it.each<[string, readonly VirtualJob[]]>([
  ['one job behind a running one', [job('runs', 2, 60), job('waits', 2, 10)]],
  [
    'a job that fits beside a held head and ends before it',
    [job('runs', 1, 60), job('head', 2, 30), job('short', 1, 20)],
  ],
  ['a job behind a held head', [job('runs', 1, 60), job('head', 2, 30), job('long', 1, 90)]],
  [
    'a job of a higher priority that came last',
    [job('runs', 2, 60), job('low', 2, 30), job('high', 2, 30, { priority: 9 })],
  ],
  ['two jobs in turn', [job('runs', 2, 60), job('first', 2, 30), job('second', 2, 30)]],
])('the forecast and the scheduler agree about %s', (_sentence, jobs) => {
  const cluster = new VirtualCluster([2]);
  for (const one of jobs) cluster.submit(one);
  // The scheduler derives held nodes again every few minutes.
  cluster.advance(6);
  const { waiting } = cluster;
  const [alone, recorded] = [expected(cluster, false), expected(cluster, true)];
  const held = waiting.flatMap((uid) => {
    const promise = cluster.promiseFor(uid);
    return promise === undefined ? [] : [[uid, Math.round(promise.start.getTime() / 60_000)] as const];
  });
  const nowMinutes = Math.round((cluster.view.now?.().getTime() ?? 0) / 60_000);
  for (const [uid, start] of held) expect([uid, recorded[uid]]).toEqual([uid, start - nowMinutes]);
  const starts = actual(cluster, waiting);
  expect(alone).toEqual(starts);
  expect(recorded).toEqual(starts);
});
