/**
 * How long does a gang of 16,384 ranks hold up the loop while nodes are searched for it: in the loop, and beside it? On 2,048 nodes that are free and on 10,240 of
 * which half are taken. The same code as in the operator; nodes are data. Run: `node apps/operator/bench/node-search.bench.ts`.
 */
import type { TrainingJob } from '@coxswain/api-types';
import { aJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { fabricFromNodes, type FabricCapacity } from '@coxswain/fabric';
import { type NodeSearch, searchNodes } from '@coxswain/job-planning';
import { systemClock } from '@coxswain/kube';
import { ParallelLayout } from '@coxswain/layout';
import { PlannerProcess } from '@coxswain/planner-process';
import { NodeSearches } from '../src/training-job/node-searches.ts';

const GPUS = 8;
const layout = ParallelLayout.parse({ tensorParallelDegree: 8, pipelineParallelDegree: 16, dataParallelDegree: 128 });
const search: NodeSearch = { spec: { ...aJobSpec(), layout }, request: { layout, gpusPerNode: GPUS }, avoided: [] };
const job = aTrainingJob({ metadata: { name: 'large', namespace: 'research', uid: 'uid-1' } }) as TrainingJob & {
  readonly metadata: { readonly uid: string };
};

const searcher = new PlannerProcess({ limits: { timeoutMs: 60_000, heapMib: 128 } });
for (const [nodes, taken] of [
  [2_048, 0],
  [10_240, 5_120],
] as const) {
  const capacity = aCapacity(nodes, taken);
  const here = longestGap(() => Promise.resolve(searchNodes(search, capacity)));
  const inLoop = await here;
  // The first question starts the process.
  await beside(capacity);
  const besideIt = await longestGap(() => beside(capacity));
  console.log(
    `${nodes} nodes, ${taken} taken: the loop stands still for ${inLoop.gapMs.toFixed(0)} ms at most when it searches itself, ` +
      `for ${besideIt.gapMs.toFixed(0)} ms when another process does, which answers after ${besideIt.tookMs.toFixed(0)} ms`,
  );
}
await searcher.close();

function aCapacity(nodes: number, taken: number): FabricCapacity {
  const facts = Array.from({ length: nodes }, (_, index) => ({
    name: `node-${(index * 7_919) % 99_991}`,
    labels: {
      'fabric.topograph.run/tier-0': `leaf-${Math.floor(index / 16)}`,
      'fabric.topograph.run/tier-1': `spine-${Math.floor(index / 256)}`,
      'fabric.topograph.run/tier-2': 'core',
    },
    gpuCapacity: GPUS,
    schedulable: true,
    ready: true,
  }));
  const usedGpus = new Map(facts.filter((_, index) => index % 2 === 0).map(({ name }) => [name, GPUS]));
  return { fabric: fabricFromNodes(facts), usedGpus: taken === 0 ? new Map() : usedGpus };
}

/** As the reconciler does it: asks, and takes the answer when it is told of it. */
async function beside(capacity: FabricCapacity): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const searches = new NodeSearches({
    searcher,
    scheduler: {
      capacityFor: () => ({ ...capacity, version: 1, rises: 0 }),
      standingRefusal: () => undefined,
      hasPromise: () => false,
    },
    clock: systemClock,
    onNews: resolve,
    onFailure: (_key, error) => reject(error as Error),
  });
  searches.ask(job, search);
  await promise;
  const { kind } = searches.of(job.metadata.uid, search);
  if (kind !== 'found') throw new Error(`the search is ${kind}`);
  searches.close();
}

/** Longest time in which nothing else had its turn, while `work` went on. */
async function longestGap(work: () => Promise<unknown>): Promise<{ readonly gapMs: number; readonly tookMs: number }> {
  const beganMs = performance.now();
  let lastMs = beganMs;
  let gapMs = 0;
  let isOver = false;
  const tick = (): void => {
    const nowMs = performance.now();
    gapMs = Math.max(gapMs, nowMs - lastMs);
    lastMs = nowMs;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  await new Promise((resolve) => setImmediate(resolve));
  await work();
  const tookMs = performance.now() - beganMs;
  await new Promise((resolve) => setImmediate(resolve));
  isOver = true;
  return { gapMs, tookMs };
}
