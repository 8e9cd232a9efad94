import { aTrainingJob } from '@coxswain/api-types/testing';
import { KubeApiError, noMetrics, type KubeObject } from '@coxswain/kube';
import { FakeClock, FakeKubeApi } from '@coxswain/kube/testing';
import { createClusterCache } from './cluster-cache.ts';
import {
  checkpointsPath,
  nodesPath,
  placementsPath,
  podsPath,
  priorityClassesPath,
  trainingJobsPath,
} from './paths.ts';

const IN_N = { namespace: 'n' };
const bodies: Readonly<Record<string, Record<string, unknown>>> = {
  job: { spec: aTrainingJob().spec },
  placement: { spec: { jobUid: 'uid-of-j', epoch: 1 } },
  checkpoint: { spec: { jobUid: 'uid-of-j' } },
  pod: { spec: { containers: [] }, status: {} },
  node: { spec: {}, status: {} },
};

describe('the cache of the operator', () => {
  it.each([
    ['job', trainingJobsPath(IN_N)],
    ['placement', placementsPath(IN_N)],
    ['checkpoint', checkpointsPath(IN_N)],
    ['pod', podsPath(IN_N)],
    ['node', nodesPath()],
  ])('shows a %s that its watch left out within a minute', async (kind, path) => {
    const api = new FakeKubeApi();
    const clock = new FakeClock();
    const cache = createClusterCache({
      client: api,
      clock,
      random: () => 0.5,
      metrics: noMetrics,
      onProblem: () => undefined,
    });
    const end = new AbortController();
    const running = cache.informers.run(end.signal);
    await clock.advance(0);
    api.deafen('to events');
    await api.create<KubeObject>(path, { apiVersion: 'v1', kind, metadata: { name: 'new' }, ...bodies[kind] });
    for (let second = 0; second < 60; second += 10) {
      api.bookmark();
      await clock.advance(10_000);
    }
    const { jobs, placements, checkpoints, pods, nodes } = cache;
    const sizes = {
      job: jobs.cached.size,
      placement: placements.cached.size,
      checkpoint: checkpoints.cached.size,
      pod: pods.cached.size,
      node: nodes.size,
    };
    expect(sizes).toMatchObject({ [kind]: 1 });
    end.abort();
    await clock.advance(0);
    await running;
    expect(clock.pending).toBe(0);
  });
});

it('the cache of the operator does without PriorityClasses that it may not read, and has them once it may', async () => {
  const api = new FakeKubeApi();
  const clock = new FakeClock();
  const failed: unknown[] = [];
  const onProblem = (problem: unknown): void => void failed.push(problem);
  const cache = createClusterCache({ client: api, clock, random: () => 0.5, metrics: noMetrics, onProblem });
  api.interfere = ({ path }) => {
    if (path.startsWith(priorityClassesPath()))
      throw new KubeApiError({ status: 403, reason: 'Forbidden', message: '' });
  };
  const end = new AbortController();
  const running = cache.informers.run(end.signal);
  await clock.advance(180_000);
  expect([cache.informers.hasSynced(), cache.informers.longestOutageMs()]).toEqual([true, 0]);
  expect(cache.priorityClassFacts()).toBeUndefined();
  expect(failed).toContainEqual(expect.objectContaining({ collectionPath: priorityClassesPath() }));
  api.interfere = () => undefined;
  await clock.advance(120_000);
  expect(cache.priorityClassFacts()).toEqual([]);
  end.abort();
  await clock.advance(0);
  await running;
});
