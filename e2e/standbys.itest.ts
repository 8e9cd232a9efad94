import { join } from 'node:path';
import { LABELS } from '@coxswain/api-types';
import { loseNodes, startSystem, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { brokenInvariants, expectRowsToEqualCluster } from './support/audit.ts';
import { sleeperSpec, UNTIL_STOPPED } from './support/jobs.ts';
import { createProject, jobIn, ranksOf, resource, submit, type TestProject } from './support/project.ts';

/** It needs an island of three nodes, which the nodes that other tests share do not have. */
const FABRIC = join(import.meta.dirname, 'support/one-island.yaml');
const deadlineMs = 180_000;

let system: CoxswainSystem;
let project: TestProject;

beforeAll(async () => {
  system = await startSystem({ fabricFile: FABRIC, shortLeases: true });
  project = await createProject(system, 'standbys');
});

afterAll(async () => {
  await system.stop();
});

interface Pod {
  readonly metadata: {
    readonly uid: string;
    readonly name: string;
    readonly deletionTimestamp?: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName?: string; readonly containers: readonly { readonly resources: object }[] };
  readonly status: { readonly phase: string };
}

/** Pods of the job by index. */
async function podsOf(jobUid: string): Promise<ReadonlyMap<number, Pod>> {
  const selector = encodeURIComponent(`${LABELS.jobUid}=${jobUid}`);
  const path = `/api/v1/namespaces/${project.name}/pods?labelSelector=${selector}`;
  const { items } = await system.plane.admin.json<{ readonly items: readonly Pod[] }>({ method: 'GET', path });
  return new Map(items.map((pod) => [Number(pod.metadata.labels[LABELS.podIndex]), pod]));
}

const nodesOfRanks = async (id: string): Promise<readonly string[]> =>
  (await ranksOf(project, { id, count: 4 })).toSorted((one, other) => one.rank - other.rank).map(({ node }) => node);

describe('a node that dies under a gang with a standby', () => {
  it('costs its own pod alone: the standby takes its ranks, the other pod keeps its UID, and the job completes', async () => {
    const spec = sleeperSpec({ steps: UNTIL_STOPPED, stepMs: 100, saveEvery: 10 }, { standby: 1 });
    const { id } = await submit(project, 'node-dies', spec);
    const running = await jobIn(project, id, ['Running'], { deadlineMs, and: ({ checkpoint }) => checkpoint !== null });
    expect(running.summary).toContain('; 1 of 1 standby.');
    const uid = running.uid ?? '';
    const before = await podsOf(uid);
    expect([...before.values()].map(({ spec: { containers } }) => containers[0]?.resources)).toEqual(
      Array.from({ length: 3 }, () => ({ limits: { 'nvidia.com/gpu': '2' }, requests: { 'nvidia.com/gpu': '2' } })),
    );
    const [kept, lost, standby] = [0, 1, 2].map((index) => before.get(index)?.spec.nodeName ?? '');
    expect(await nodesOfRanks(id)).toEqual([kept, kept, lost, lost]);

    // Its Node goes too, as where a cloud removes a machine: otherwise this test waits until it is not ready.
    loseNodes(system, [lost ?? '']);
    await system.plane.kubectl(['delete', 'node', lost ?? '', '--wait=false']);
    const again = await jobIn(project, id, ['Running'], {
      deadlineMs,
      and: ({ attempts: [attempt], progress }) => attempt?.incarnation === 2 && (progress?.step ?? 0) > 0,
    });
    expect(again.attempts).toHaveLength(1);
    expect(again.attempts[0]).toMatchObject({
      replacements: [{ podIndex: 1, standby: 2, incarnation: 2 }],
      incarnations: [{ reason: 'NodeLost', charged: false }],
    });
    expect(again.restarts).toEqual({ total: 1, charged: 0 });
    expect(again.summary).toContain('; 0 of 1 standby.');
    const after = await podsOf(uid);
    expect([0, 2].map((index) => after.get(index)?.metadata.uid)).toEqual(
      [0, 2].map((index) => before.get(index)?.metadata.uid),
    );
    expect(await nodesOfRanks(id)).toEqual([kept, kept, standby, standby]);
    expect((await project.api.goodput({ project: project.name, id })).shares).toContainEqual(
      expect.objectContaining({ category: 'standby', gpuSeconds: expect.any(Number) as number }),
    );

    // The machine is back with what ran on it: the pod ends, and nothing that it did counts.
    const step = again.progress?.step ?? 0;
    loseNodes(system, []);
    await waitFor(async () => (await podsOf(uid)).get(1)?.status.phase !== 'Running', {
      what: 'the pod that lost its ranks to end',
      deadlineMs,
    });
    await jobIn(project, id, ['Running'], { deadlineMs, and: ({ checkpoint }) => (checkpoint?.step ?? 0) > step });
    const { items } = await project.api.checkpoints({ project: project.name, id });
    expect(items.some((one) => one.step > step)).toBe(true);
    const { status } = await resource(system, project.name, 'node-dies');
    expect(status?.attempts).toHaveLength(1);
    expect(status?.attempts?.[0]?.incarnation).toBe(2);
    await project.api.cancel({ project: project.name, id });
    await jobIn(project, id, ['Cancelled'], { deadlineMs });
    await waitFor(async () => [...(await podsOf(uid)).values()].every(({ status: { phase } }) => phase !== 'Running'), {
      what: 'every pod to end',
      deadlineMs,
    });
  });

  it('loses a standby without a restart, and completes', async () => {
    const spec = sleeperSpec({ steps: 150, stepMs: 100, saveEvery: 50 }, { standby: 1 });
    const { id } = await submit(project, 'standby-dies', spec);
    const { uid } = await jobIn(project, id, ['Running'], {
      deadlineMs,
      and: ({ progress }) => (progress?.step ?? 0) > 0,
    });
    const standby = (await podsOf(uid ?? '')).get(2);
    await system.plane.kubectl(['-n', project.name, 'delete', 'pod', standby?.metadata.name ?? '', '--wait=false']);
    const done = await jobIn(project, id, ['Complete'], { deadlineMs });
    expect(done.attempts).toMatchObject([{ outcome: 'Succeeded', standbys: 1 }]);
    expect(done.restarts).toEqual({ total: 0, charged: 0 });
    await expectRowsToEqualCluster(system, project);
    expect(await brokenInvariants(system, project.name)).toEqual([]);
  });
});
