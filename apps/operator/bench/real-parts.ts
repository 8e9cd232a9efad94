import { type Clock, noMetrics, systemClock, type KubeClient } from '@coxswain/kube';
import type { ClusterScheduler } from '@coxswain/scheduling';
import { createClusterCache, type ClusterCache } from '../src/cluster/cluster-cache.ts';
import { KubernetesTrainingJobStore } from '../src/training-job/kubernetes-training-job-store.ts';
import type { NodeSearches } from '../src/training-job/node-searches.ts';
import { TrainingJobReconciler } from '../src/training-job/training-job.reconciler.ts';

/** The operator's cache, filled by the bench and by nobody else. */
export function aCache(): ClusterCache {
  return createClusterCache({
    client: {} as KubeClient,
    clock: systemClock,
    random: Math.random,
    metrics: noMetrics,
    onProblem: (problem) => {
      throw new Error('the cache met something', { cause: problem });
    },
  });
}

/** The operator's reconciler and store over an API server that the bench plays; nobody reports, plans or is told anything. */
export function aReconciler(parts: {
  readonly client: KubeClient;
  readonly cache: ClusterCache;
  readonly scheduler: ClusterScheduler;
  readonly clock: Clock;
  readonly nodeSearches?: NodeSearches;
}): TrainingJobReconciler {
  const { scheduler, clock, nodeSearches } = parts;
  return new TrainingJobReconciler({
    store: new KubernetesTrainingJobStore({ ...parts, clock }),
    scheduler,
    clock,
    ...(nodeSearches === undefined ? {} : { nodeSearches }),
    // As long as a real bundle of certificates, which every manifest holds.
    pods: () => ({
      launcherImage: 'launcher',
      reportUrls: ['https://operator:9443'],
      reportCaPem: 'A'.repeat(700),
      user: undefined,
    }),
    leaderTerm: () => 1,
    reportAgesMsOf: () => new Map(),
    preflightOf: () => undefined,
    trainedOf: () => undefined,
    verdictsOf: () => [],
    findingsOf: () => [],
    launchersOf: () => new Map(),
    timeouts: {},
    retention: {},
    progressOf: () => undefined,
    planner: { planningOf: () => undefined, ask: () => undefined, forget: () => undefined },
    runtimes: { runtimeOf: () => undefined, read: () => undefined },
    effects: {
      warnOfUnrecordedPlacements: () => undefined,
      refuseLaunchers: () => undefined,
      warn: console.error,
      recordEvents: () => undefined,
    },
    warnOfRuntime: () => undefined,
  });
}
