/** Bounds of whole branches of the search, against every layout in them predicted in full. */
import { ModelShape } from '@coxswain/layout';
import type { PinnedAxes, PlanRequestInput } from '../contract.ts';
import type { CandidateLayout } from '../facts.ts';
import { constantsOf } from '../calibration/calibration-in-use.ts';
import { peakAllocatedBytesOf } from '../memory/predict-memory.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { resolveRequest } from '../request/resolved-request.ts';
import { spaceOf } from '../space/space-of-request.ts';
import { denseMeshesOf, expertGridsOf, candidateOfMesh, withPassGroup, withStates } from '../space/search-space.ts';
import { StagePartitions } from '../space/stage-partitions.ts';
import { predictStepTime } from '../time/step-time.ts';
import { decidedCandidate, withoutExperts } from './decided-layout.ts';
import type { Bounds } from './layout-models.ts';
import { RunModels } from './run-models.ts';
import { Subspaces } from './subspaces.ts';

const DENSE = ModelShape.parse({
  layers: 7,
  hiddenSize: 4096,
  ffnHiddenSize: 14_336,
  attentionHeads: 32,
  keyValueHeads: 8,
  headDim: 128,
  vocabularySize: 128_256,
  gatedMlp: true,
});
const MODELS = {
  dense: DENSE,
  'with experts': ModelShape.parse({ ...DENSE, experts: { count: 4, topK: 2, ffnHiddenSize: 4096, denseLayers: 1 } }),
};

type Level = 'dense mesh' | 'mesh' | 'passes' | 'schedule' | 'pipeline';
/** A branch: its bounds, of which every layout keeps one, and what its layouts take. */
interface Branch {
  readonly level: Level;
  readonly bounds: readonly Bounds[];
  readonly layouts: Bounds[];
}

/** Every branch of the search with every legal layout in it. */
function branchesOf(
  model: keyof typeof MODELS,
  pinned: PinnedAxes,
  over: Partial<PlanRequestInput>,
): readonly Branch[] {
  const request = {
    modelShape: MODELS[model],
    cluster: { gpu: 'a100', gpus: 8, gpusPerNode: 4, scaleUpDomainGpus: 8 },
    globalBatchSize: 24,
  };
  const resolved = resolveRequest(parsePlanRequest({ ...request, sequenceLength: 2048, pinned, ...over }));
  const base = resolved.run;
  const space = spaceOf(resolved, base);
  const models = new RunModels(base, constantsOf(base));
  const partitions = new StagePartitions(space.model);
  const subspaces = new Subspaces(space);
  const takenBy = (layout: CandidateLayout): Bounds => ({
    timeS: predictStepTime({ ...base, candidate: layout }, constantsOf(base)).stepTimeS,
    bytes: peakAllocatedBytesOf({ ...base, candidate: layout }),
  });
  const branches: Branch[] = [];
  const branch = (level: Level, bounds: readonly Bounds[]): Branch => {
    const added = { level, bounds, layouts: [] };
    branches.push(added);
    return added;
  };
  for (const dense of denseMeshesOf(space, (_mesh, [first]) => first ?? 'ring')) {
    if (models.refusalOf(candidateOfMesh(withoutExperts(dense))) !== undefined) continue;
    const ofDense = branch('dense mesh', models.denseBounds(candidateOfMesh(withoutExperts(dense))));
    for (const grid of expertGridsOf(space, dense)) {
      const mesh = { ...dense, ...grid };
      const ofMesh = branch('mesh', models.meshBounds(candidateOfMesh(mesh)));
      for (const group of subspaces.of(dense).groups) {
        const minMemory = withPassGroup(candidateOfMesh(mesh), group, space.model);
        const passes = models.withPasses(minMemory);
        const ofPasses = branch('passes', [passes.bounds]);
        for (const schedule of subspaces.of(dense).schedules) {
          const ofSchedule = branch('schedule', [passes.scheduleBounds(schedule)]);
          for (const { choice } of schedule.pipelines) {
            const leaf = { candidate: minMemory, choice: group.minMemory, pipeline: choice };
            const decided = decidedCandidate({ space, models, partitions }, leaf);
            if (decided === undefined) continue;
            const pipeline = passes.withPipeline(decided);
            const timeS = Math.max(pipeline.leastS, pipeline.closerLeastS());
            const ofPipeline = branch('pipeline', [{ timeS, bytes: pipeline.leastBytes() }]);
            for (const member of group.members) {
              const layout = withStates(decided, member.choice, space.model);
              if (models.refusalOf(layout) !== undefined) continue;
              const taken = takenBy(layout);
              for (const above of [ofDense, ofMesh, ofPasses, ofSchedule, ofPipeline]) above.layouts.push(taken);
            }
          }
        }
      }
    }
  }
  return branches;
}

/** A bound that is no number is kept by nothing. */
const keeps = (bound: Bounds, { timeS, bytes }: Bounds): boolean => bound.timeS <= timeS && bound.bytes <= bytes;

const USUAL = { context: 1, rankOrder: 'tp-cp-dp-pp', microBatchSize: 1 } as const;
const ISLANDS = [{ gpus: 4 }, { gpus: 4, relativeSpeed: 0.5, scaleOutGbPerS: 12 }];

describe('the bounds of branches', () => {
  it.each<[keyof typeof MODELS, PinnedAxes, Partial<PlanRequestInput>]>([
    ['dense', USUAL, { allow: { schedules: ['1f1b', 'zbv'] } }],
    ['dense', { ...USUAL, zeroStage: 1, recompute: 'none' }, {}],
    [
      'dense',
      { ...USUAL, zeroStage: 3 },
      { allow: { schedules: ['gpipe'] }, cluster: { gpu: 'a100', gpus: 8, islands: ISLANDS, betweenIslandsGbPerS: 1 } },
    ],
    ['with experts', { ...USUAL, recompute: 'norms', offloadOptimizer: 0 }, { allow: { schedules: ['1f1b'] } }],
  ])('of a %s model with %j are kept by every layout in them, and near the least of most', (model, pinned, over) => {
    const branches = branchesOf(model, pinned, over).filter(({ layouts }) => layouts.length > 0);
    expect(branches.length).toBeGreaterThan(25);
    const broken = branches.filter(
      ({ bounds, layouts }) => !layouts.every((layout) => bounds.some((bound) => keeps(bound, layout))),
    );
    expect(broken.map(({ level, bounds }) => ({ level, bounds }))).toEqual([]);
    // Bounds of nothing would be kept as well: of one pipeline they are most of what the best layout takes.
    const pipelines = branches.filter(({ level }) => level === 'pipeline');
    const shares = pipelines.map(({ bounds: [bound], layouts }) => ({
      time: (bound?.timeS ?? 0) / Math.min(...layouts.map(({ timeS }) => timeS)),
      memory: (bound?.bytes ?? 0) / Math.min(...layouts.map(({ bytes }) => bytes)),
    }));
    const lowestQuarter = (of: readonly number[]): number => {
      const finite = of.filter(Number.isFinite).sort((a, b) => a - b);
      return finite[finite.length >> 2] ?? 0;
    };
    expect(lowestQuarter(shares.map(({ time }) => time))).toBeGreaterThan(0.7);
    expect(lowestQuarter(shares.map(({ memory }) => memory))).toBeGreaterThan(0.5);
  });
});
