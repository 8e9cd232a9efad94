import { layoutViolations, ModelShape } from '@coxswain/layout';
import fc from 'fast-check';
import type { CandidateLayout, RunFacts } from '../facts.ts';
import { peakAllocatedBytesOf } from '../memory/predict-memory.ts';
import type { PinnedAxes, PlanRequestInput } from '../contract.ts';
import { enumerateLayouts } from '../testing/search-models.ts';
import { predictStepTime } from '../time/step-time.ts';
import { constantsOf } from '../calibration/calibration-in-use.ts';
import { BestLayouts, ParetoFront } from './kept-layouts.ts';
import { layoutOfCandidate } from '../request/layout-conversion.ts';
import { layoutFactsOf } from '../request/layout-rule-facts.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { resolveRequest, type RunBase } from '../request/resolved-request.ts';
import { brokenStageOf } from '../request/whole-stages.ts';
import { spaceOf } from '../space/space-of-request.ts';
import { searchLayouts } from './branch-and-bound.ts';
import { decidedCandidate } from './decided-layout.ts';
import type { Bounds, LayoutModels } from './layout-models.ts';
import { RunModels } from './run-models.ts';
import { newStats } from './search-stats.ts';
import { SimplestLayouts } from './simplest-layouts.ts';
import {
  denseMeshesOf,
  expertGridsOf,
  passGroupsOf,
  pipelineChoicesOf,
  candidateOfMesh,
  stateChoicesOf,
  withPassGroup,
  withStates,
  type SpaceFacts,
} from '../space/search-space.ts';
import { goalOf } from './search-request.ts';
import { StagePartitions } from '../space/stage-partitions.ts';

const SMALL = {
  layers: 5,
  hiddenSize: 4096,
  ffnHiddenSize: 14_336,
  attentionHeads: 32,
  keyValueHeads: 8,
  headDim: 128,
  vocabularySize: 128_256,
  gatedMlp: true,
};
const MODELS = {
  dense: ModelShape.parse(SMALL),
  'with experts': ModelShape.parse({
    ...SMALL,
    mtpLayers: 1,
    experts: { count: 8, topK: 2, ffnHiddenSize: 4096, denseLayers: 1, sharedFfnHiddenSize: 2048 },
  }),
  'with attention sinks': ModelShape.parse({ ...SMALL, attentionSinks: true }),
  hybrid: ModelShape.parse({
    ...SMALL,
    layers: 6,
    layerPattern: 'M-*M-*',
    stateSpace: { stateSize: 128, heads: 64, headDim: 64, groups: 8 },
  }),
};
const ISLANDS = [{ gpus: 8 }, { gpus: 8, relativeSpeed: 0.6, scaleOutGbPerS: 12 }];

const FASTER = { gpus: 8, gpu: 'h100', scaleOutGbPerS: 12 };

const resolvedOf = (model: keyof typeof MODELS, over: Partial<PlanRequestInput> = {}) =>
  resolveRequest(
    parsePlanRequest({
      modelShape: MODELS[model],
      cluster: { gpu: 'a100', gpus: 16 },
      globalBatchSize: 48,
      sequenceLength: 4096,
      ...over,
    }),
  );

/** Nothing is kept, bounded or decided in parts: every layout is predicted by itself. */
function plainModels(base: RunBase, models: LayoutModels): LayoutModels {
  const runOf = (candidate: CandidateLayout): RunFacts => ({ ...base, candidate });
  const constants = constantsOf(base);
  const none = { timeS: 0, bytes: 0 };
  return {
    refusalOf: (candidate) =>
      brokenStageOf(base.cluster, candidate) ??
      layoutViolations(layoutOfCandidate(candidate, base.model, 1), layoutFactsOf(base, candidate.microBatchSize))[0],
    degreeRefusalOf: (candidate) => models.degreeRefusalOf(candidate),
    balancedStages: (candidate) => models.balancedStages(candidate),
    attentionS: (mesh) => models.attentionS(mesh),
    denseBounds: () => [none],
    meshBounds: () => [none],
    withPasses: () => ({
      bounds: none,
      scheduleBounds: () => none,
      balancedStages: (candidate) => models.balancedStages(candidate),
      withPipeline: () => ({
        leastS: 0,
        closerLeastS: () => 0,
        leastBytes: () => 0,
        timeBoundS: () => 0,
        closerBoundS: () => 0,
        peakBytes: (candidate) => peakAllocatedBytesOf(runOf(candidate)),
        stepTimeS: (candidate) => predictStepTime(runOf(candidate), constants).stepTimeS,
      }),
    }),
  };
}

describe('the models of a run', () => {
  it.each<[keyof typeof MODELS, PinnedAxes, Partial<PlanRequestInput>]>([
    ['dense', { context: 1, rankOrder: 'tp-cp-dp-pp', microBatchSize: 1 }, {}],
    ['dense', { pipeline: 4, zeroStage: 1, offloadOptimizer: 0, microBatchSize: 2 }, { objective: 'memory' }],
    ['dense', { tensor: 2, recompute: 'operations', microBatchSize: 1 }, {}],
    ['dense', { tensor: 2, recompute: 'half', context: 2, microBatchSize: 1 }, { memoryMarginShare: 0.4 }],
    [
      'dense',
      { zeroStage: 1, context: 1, offloadOptimizer: 0, microBatchSize: 1 },
      { cluster: { gpu: 'a100', gpus: 16, islands: ISLANDS, betweenIslandsGbPerS: 1 } },
    ],
    [
      'dense',
      { zeroStage: 1, context: 1, offloadOptimizer: 0, microBatchSize: 1 },
      { cluster: { gpu: 'a100', gpus: 16, islands: [{ gpus: 12 }, FASTER], stagesInOneIsland: true } },
    ],
    ['with experts', { context: 1, microBatchSize: 1, offloadOptimizer: 0, tensor: 2 }, {}],
    [
      'with experts',
      { pipeline: 2, recompute: 'norms', context: 1, microBatchSize: 2 },
      { objective: 'memory', precision: 'fp16' },
    ],
    ['with attention sinks', { zeroStage: 1, offloadOptimizer: 0, microBatchSize: 1 }, {}],
    ['hybrid', { context: 1, tensor: 2, microBatchSize: 1 }, { allow: { zeroStages: [0, 1] } }],
  ])(
    'let the search of a %s model with %j %j find what predicting every layout finds',
    (model, pinned, over) => {
      const resolved = resolvedOf(model, { ...over, pinned, top: 8 });
      const base = resolved.run;
      const space = spaceOf(resolved, base);
      const models = new RunModels(base, constantsOf(base));
      const { objective, top, limits } = goalOf(resolved);
      const best = new BestLayouts(objective, top);
      const front = new ParetoFront();
      const smallestFirst = objective === 'memory';
      const simplest = new SimplestLayouts(1.03);
      searchLayouts({ space, models, limits, best, front, simplest, stats: newStats(), smallestFirst });
      const asked = { limits, objective, top, slowdown: 1.03 };
      const plain = enumerateLayouts(space, plainModels(base, models), asked);
      expect(plain.possible).toBeGreaterThan(100);
      expect(figuresOf(best.layouts)).toEqual(figuresOf(plain.best));
      expect(figuresOf(withoutTies(front.layouts))).toEqual(figuresOf(withoutTies(plain.front)));
      expect(simplest.simplest?.order).toBe(plain.simplest?.order);
    },
    60_000,
  );

  it.each<keyof typeof MODELS>(['dense', 'with experts', 'hybrid'])(
    'never bound a layout of a %s model above what it takes',
    (model) => {
      for (const islands of [undefined, ISLANDS]) {
        const resolved = resolvedOf(model, {
          cluster: { gpu: 'h100', gpus: 16, ...(islands === undefined ? {} : { islands, betweenIslandsGbPerS: 1 }) },
        });
        const base = resolved.run;
        const space = spaceOf(resolved, base);
        const models = new RunModels(base, constantsOf(base));
        const meshes = [...denseMeshesOf(space, (_mesh, [first]) => first ?? 'ring')].filter(
          ({ data }) => base.globalBatchSize % data === 0,
        );
        fc.assert(
          fc.property(fc.constantFrom(...meshes), fc.nat(), fc.nat(), (mesh, first, second) => {
            checkBounds(space, { base, models }, { mesh, numbers: [first, second] });
          }),
          { numRuns: 300 },
        );
      }
    },
  );
});

/** To six digits: sums in another order differ in the last ones. */
function figuresOf(layouts: readonly { readonly candidate: CandidateLayout; stepTimeS: number; peakBytes: number }[]) {
  return layouts.map(({ candidate, stepTimeS, peakBytes }) => ({
    candidate,
    stepTimeS: stepTimeS.toPrecision(6),
    peakBytes: peakBytes.toPrecision(6),
  }));
}

/** A larger layout that is faster by rounding alone is on the front or not by the order of sums. */
function withoutTies<Layout extends { readonly stepTimeS: number }>(front: readonly Layout[]): readonly Layout[] {
  return front.filter(({ stepTimeS }, at) => (front[at + 1]?.stepTimeS ?? Infinity) > stepTimeS * (1 + 1e-12));
}

type SomeMesh = ReturnType<typeof denseMeshesOf> extends Generator<infer Mesh> ? Mesh : never;

function checkBounds(
  space: SpaceFacts,
  { base, models }: { readonly base: RunBase; readonly models: LayoutModels },
  at: { readonly mesh: SomeMesh; readonly numbers: readonly [number, number] },
): void {
  const pick = <T>(from: readonly T[], number: number): T => {
    const picked = from[number % from.length];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  };
  const [first, second] = at.numbers;
  const grid = pick(expertGridsOf(space, at.mesh), first);
  const mesh = { ...at.mesh, ...grid };
  const group = pick(passGroupsOf(stateChoicesOf(space, mesh)), second);
  const { choice, index } = pick(group.members, first);
  const pipeline = pick(pipelineChoicesOf(space, mesh), first ^ second);
  const minMemory = withPassGroup(candidateOfMesh(mesh), group, space.model);
  const decided = { candidate: minMemory, choice: group.minMemory, pipeline };
  const candidate = decidedCandidate({ space, models, partitions: new StagePartitions(space.model) }, decided);
  if (candidate === undefined) return;
  const whole = withStates(candidate, choice, space.model);
  if (models.refusalOf(whole) !== undefined) return;
  const run = { ...base, candidate: whole };
  const timeS = predictStepTime(run, constantsOf(base)).stepTimeS;
  const bytes = peakAllocatedBytesOf(run);
  const passes = models.withPasses(minMemory);
  const pipelineModels = passes.withPipeline(candidate);
  const bounds = {
    passes: passes.bounds,
    schedule: passes.scheduleBounds(pipeline),
    pipeline: { timeS: pipelineModels.leastS, bytes: pipelineModels.leastBytes() },
    closerPipeline: { timeS: pipelineModels.closerLeastS(), bytes: 0 },
    closer: { timeS: pipelineModels.closerBoundS(whole, index), bytes: 0 },
    states: { timeS: pipelineModels.timeBoundS(whole, index), bytes: 0 },
  };
  const isAbove = ({ timeS: least, bytes: fewest }: Bounds): boolean => least > timeS || fewest > bytes;
  expect(Object.entries(bounds).filter(([, bound]) => isAbove(bound))).toEqual([]);
  const dense = models.denseBounds(candidateOfMesh({ ...mesh, expert: 1, expertTensor: 1 }));
  expect(dense.every(isAbove)).toBe(false);
  expect(models.meshBounds(candidateOfMesh(mesh)).every(isAbove)).toBe(false);
  const uselessS = 0.98 * timeS;
  const cutS = pipelineModels.stepTimeS(whole, index, (stepTimeS) => stepTimeS < uselessS);
  expect(cutS >= uselessS && cutS <= timeS * (1 + 1e-12)).toBe(true);
  expect(pipelineModels.stepTimeS(whole, index)).toBeCloseTo(timeS, 6);
  expect(pipelineModels.peakBytes(whole, index) / bytes).toBeCloseTo(1, 6);
}
