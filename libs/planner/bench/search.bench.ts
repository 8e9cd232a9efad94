/**
 * How fast and how exact is the search for layouts? Run: `npm run planner:bench`; the last line is one JSON object.
 *
 * Seconds are those that the process was busy (user time), so that other work on the machine does not count, beside what a clock saw.
 */
import { availableParallelism, cpus, totalmem } from 'node:os';
import { constantsOf } from '../src/calibration/calibration-in-use.ts';
import { BestLayouts, ParetoFront } from '../src/search/kept-layouts.ts';
import { parsePlanRequest } from '../src/request/parse-plan-request.ts';
import { resolveRequest } from '../src/request/resolved-request.ts';
import { spaceOf } from '../src/space/space-of-request.ts';
import { searchLayouts } from '../src/search/branch-and-bound.ts';
import { decidedCandidate } from '../src/search/decided-layout.ts';
import { RunModels } from '../src/search/run-models.ts';
import { SimplestLayouts } from '../src/search/simplest-layouts.ts';
import { PAIRED_ERROR_PCT } from '../src/calibration/paired-error.ts';
import { newStats, type SearchStats } from '../src/search/search-stats.ts';
import { goalOf } from '../src/search/search-request.ts';
import {
  denseMeshesOf,
  expertGridsOf,
  passGroupsOf,
  pipelineChoicesOf,
  candidateOfMesh,
  stateChoicesOf,
  withPassGroup,
  withStates,
} from '../src/space/search-space.ts';
import { StagePartitions } from '../src/space/stage-partitions.ts';
import type { PlanRequestInput } from '../src/contract.ts';
import { enumerateLayouts } from '../src/testing/search-models.ts';

const MIB = 2 ** 20;

const TRILLION: PlanRequestInput = {
  model: 'megatron-1t',
  cluster: { gpu: 'a100', gpus: 3072 },
  globalBatchSize: 3072,
  sequenceLength: 2048,
};
const DEEPSEEK: PlanRequestInput = {
  model: 'deepseek-v3',
  cluster: { gpu: 'h100', gpus: 16_384 },
  globalBatchSize: 15_360,
  sequenceLength: 4096,
};
/** 32,768 micro-batches on up to 64 stages, for an engine that runs every schedule. */
const MANY_SAMPLES: PlanRequestInput = {
  model: 'llama-3.1-405b',
  cluster: { gpu: 'h100', gpus: 512 },
  globalBatchSize: 65_536,
  sequenceLength: 8192,
};
const SMALL: PlanRequestInput = {
  model: 'llama-3.1-8b',
  cluster: { gpu: 'h100', gpus: 16 },
  globalBatchSize: 32,
  sequenceLength: 4096,
  pinned: { context: 1, microBatchSize: 1 },
  top: 20,
};

interface Spent {
  readonly busyS: number;
  readonly wallS: number;
}

function measured<T>(act: () => T): T & Spent {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  const result = act();
  return { ...result, busyS: process.cpuUsage(before).user / 1e6, wallS: (performance.now() - startedMs) / 1000 };
}

function prepared(input: PlanRequestInput) {
  const resolved = resolveRequest(parsePlanRequest(input));
  const { run } = resolved;
  return { goal: goalOf(resolved), space: spaceOf(resolved, run), models: new RunModels(run, constantsOf(run)) };
}

function searched(input: PlanRequestInput) {
  const { goal, space, models } = prepared(input);
  const { objective, limits } = goal;
  const best = new BestLayouts(objective, goal.top);
  const front = new ParetoFront();
  const simplest = new SimplestLayouts(1 + PAIRED_ERROR_PCT / 100);
  const stats = newStats();
  searchLayouts({ space, models, limits, best, front, simplest, stats, smallestFirst: objective === 'memory' });
  return { best: best.layouts, front: front.layouts, stats };
}

/** Time bound and memory of every layout on some meshes, one by one, as if nothing could be left out. */
function evaluatedOneByOne(input: PlanRequestInput, everyNthMesh: number): { readonly layouts: number } {
  const { space, models } = prepared(input);
  const partitions = new StagePartitions(space.model);
  let layouts = 0;
  let sum = 0;
  [...denseMeshesOf(space, (mesh) => mesh.contextAlgorithm)].forEach((dense, number) => {
    const [grid] = expertGridsOf(space, dense);
    const replicaBatch = space.globalBatchSize / dense.data / dense.microBatchSize;
    if (number % everyNthMesh !== 0 || grid === undefined || !Number.isInteger(replicaBatch)) return;
    const mesh = { ...dense, ...grid };
    if (
      models.degreeRefusalOf({ ...candidateOfMesh(mesh), ...partitions.of(mesh.pipeline, EVEN, () => []) }) !==
      undefined
    )
      return;
    for (const group of passGroupsOf(stateChoicesOf(space, mesh))) {
      const minMemory = withPassGroup(candidateOfMesh(mesh), group, space.model);
      const passes = models.withPasses(minMemory);
      for (const pipeline of pipelineChoicesOf(space, mesh)) {
        const candidate = decidedCandidate(
          { space, models, partitions },
          { candidate: minMemory, choice: group.minMemory, pipeline },
        );
        if (candidate === undefined) continue;
        const pipelineModels = passes.withPipeline(candidate);
        for (const { choice, index } of group.members) {
          const counted = withStates(candidate, choice, space.model);
          sum += pipelineModels.timeBoundS(counted, index) + pipelineModels.peakBytes(counted, index);
          layouts++;
        }
      }
    }
  });
  if (!(sum > 0)) throw new Error('nothing was evaluated');
  return { layouts };
}

/** Of 83,075 layouts, as few as every 11th mesh has, most of the time was compiling. */
const EVERY_NTH_MESH = 2;
const EVEN = { chunks: 1, partition: 'even' } as const;

/** Whether a small space has the same best layouts and front when every layout of it is measured. */
function isExact(input: PlanRequestInput): { readonly exact: boolean; readonly layouts: number } {
  const { goal, space, models } = prepared(input);
  const found = searched(input);
  const plain = enumerateLayouts(space, models, goal);
  const ordersOf = (layouts: readonly { readonly order: number }[]): string => layouts.map(({ order }) => order).join();
  const exact = ordersOf(found.best) === ordersOf(plain.best) && ordersOf(found.front) === ordersOf(plain.front);
  return { exact, layouts: plain.all };
}

function describeSearch(name: string, limitS: number, spent: Spent & { readonly stats: SearchStats }) {
  const { stats, busyS, wallS } = spent;
  const peakMib = process.resourceUsage().maxRSS / 1024;
  console.log(
    `${name}: ${stats.enumerated.toLocaleString('en')} layouts, ${stats.evaluated.toLocaleString('en')} bounded or predicted one by one, ` +
      `in ${busyS.toFixed(2)} s (bar ${limitS}; clock ${wallS.toFixed(2)}), at most ${peakMib.toFixed(0)} MiB so far`,
  );
  return { layouts: stats.enumerated, busyS, wallS, peakMib, isMet: busyS < limitS };
}

console.log(
  `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, ${Math.round(totalmem() / MIB / 1024)} GiB, Node ${process.version}`,
);
// In a new process, half of the time goes to compiling; in one that has searched before, as the API's has, what is left is the search.
const trillion = describeSearch(
  '1T parameters on 3,072 GPUs, the first search of a process',
  1,
  measured(() => searched(TRILLION)),
);
const deepseek = describeSearch(
  'DeepSeek-V3 on 16,384 GPUs, the second search',
  3,
  measured(() => searched(DEEPSEEK)),
);
const manySamples = describeSearch(
  '405B parameters on 512 GPUs with 65,536 samples, the third search',
  3,
  measured(() => searched(MANY_SAMPLES)),
);
for (let again = 0; again < 3; again++) [TRILLION, DEEPSEEK].forEach(searched);
const warmTrillion = describeSearch(
  '1T parameters on 3,072 GPUs, the tenth search',
  1,
  measured(() => searched(TRILLION)),
);
const warmDeepseek = describeSearch(
  'DeepSeek-V3 on 16,384 GPUs, the eleventh search',
  3,
  measured(() => searched(DEEPSEEK)),
);
const oneByOne = measured(() => evaluatedOneByOne(TRILLION, EVERY_NTH_MESH));
const layoutsPerS = oneByOne.layouts / oneByOne.busyS;
console.log(
  `one by one: ${Math.round(layoutsPerS).toLocaleString('en')} of ${oneByOne.layouts.toLocaleString('en')} layouts per second and core (bar 100,000)`,
);
const exactness = isExact(SMALL);
console.log(
  `against plain enumeration of ${exactness.layouts.toLocaleString('en')} layouts: ${exactness.exact ? 'equal' : 'DIFFERENT'}`,
);
const peakMib = process.resourceUsage().maxRSS / 1024;
if (!exactness.exact) process.exitCode = 1;
console.log(
  JSON.stringify({
    layoutsPerS,
    trillion,
    deepseek,
    manySamples,
    warmTrillion,
    warmDeepseek,
    peakMib,
    exact: exactness.exact,
  }),
);
