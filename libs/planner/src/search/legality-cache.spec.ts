import type { ModelShape } from '@coxswain/layout';
import { aModel, aRun, aSpace } from '../testing/runs.ts';
import {
  denseMeshesOf,
  expertGridsOf,
  pipelineChoicesOf,
  candidateOfMesh,
  stateChoicesOf,
  withStates,
  type SpaceFacts,
} from '../space/search-space.ts';
import { StagePartitions } from '../space/stage-partitions.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName } from '../time/constants.ts';
import { decidedCandidate } from './decided-layout.ts';
import type { LayoutModels } from './layout-models.ts';
import { LegalityCache } from './legality-cache.ts';
import { RunModels } from './run-models.ts';
import { Subspaces, type Subspace } from './subspaces.ts';

const CONSTANTS = Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
  TimeConstantName,
  number
>;
const EXPERTS = { count: 4, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 1, latentSize: 0 };
const NARROW: Pick<SpaceFacts, 'pinned' | 'allow'> = {
  pinned: { rankOrder: 'tp-cp-dp-pp' },
  allow: { schedules: ['1f1b', 'interleaved-1f1b', 'zbv'] },
};

interface Judged {
  readonly legal: number;
  readonly illegal: number;
  /** Layouts of which cache and rules say different things. */
  readonly differing: readonly string[];
  /** How often the cache asked the rules. */
  readonly asked: number;
}

/** Every layout of a space, judged in parts by the cache and as a whole by the rules. */
function judge(model: ModelShape, over: Partial<SpaceFacts>, stack: string): Judged {
  const space = aSpace({ model, ...over });
  const { candidate: _, ...base } = aRun({ model, cluster: space.cluster, stack });
  const rules = new RunModels(base, CONSTANTS);
  let asked = 0;
  const counting: Pick<LayoutModels, 'refusalOf' | 'degreeRefusalOf'> = {
    refusalOf: (candidate) => (asked++, rules.refusalOf(candidate)),
    degreeRefusalOf: (candidate) => (asked++, rules.degreeRefusalOf(candidate)),
  };
  const models: LayoutModels = {
    ...counting,
    balancedStages: (candidate) => rules.balancedStages(candidate),
    attentionS: (mesh) => rules.attentionS(mesh),
    denseBounds: (mesh) => rules.denseBounds(mesh),
    meshBounds: (mesh) => rules.meshBounds(mesh),
    withPasses: (candidate) => rules.withPasses(candidate),
  };
  const deciding = { space, models, partitions: new StagePartitions(model) };
  const cache = new LegalityCache<Subspace>(deciding, models);
  const subspaces = new Subspaces(space);
  const differing: string[] = [];
  let [legal, illegal] = [0, 0];
  for (const dense of denseMeshesOf(space, (_mesh, [first]) => first ?? 'ring')) {
    const ofDense = cache.degreeRefusal(dense) ?? cache.denseRefusal(dense);
    for (const grid of expertGridsOf(space, dense)) {
      const mesh = { ...dense, ...grid };
      const ofMesh = ofDense ?? cache.expertRefusal(mesh);
      for (const [index, pipeline] of pipelineChoicesOf(space, mesh).entries()) {
        const ofPipeline = ofMesh ?? cache.pipelineRefusal(mesh, { choice: pipeline, index });
        for (const [state, choice] of stateChoicesOf(space, mesh).entries()) {
          const decided = withStates(candidateOfMesh(mesh), choice, model);
          const candidate = decidedCandidate(deciding, { candidate: decided, choice, pipeline });
          if (candidate === undefined) continue;
          const refusal = ofPipeline ?? cache.stateRefusal(mesh, subspaces.of(mesh), { choice, index: state });
          const ruled = rules.refusalOf(candidate);
          if (ruled === undefined) legal++;
          else illegal++;
          if ((refusal === undefined) !== (ruled === undefined))
            differing.push(JSON.stringify({ refusal: refusal, ruled, candidate }));
        }
      }
    }
  }
  return { legal, illegal, differing, asked };
}

describe('the legality cache', () => {
  it.each<[string, ModelShape, Partial<SpaceFacts>, string]>([
    ['a dense model', aModel({ layers: 5 }), NARROW, 'megatron-core'],
    [
      'heads and a batch that few degrees divide',
      aModel({ attentionHeads: 6, keyValueHeads: 3 }),
      { ...NARROW, globalBatchSize: 12 },
      'megatron-core',
    ],
    [
      'experts',
      aModel({ experts: EXPERTS }),
      { ...NARROW, pinned: { ...NARROW.pinned, context: 1, microBatchSize: 1 } },
      'megatron-core',
    ],
    ['an engine that offers less', aModel(), NARROW, 'torchtitan'],
  ])('judges every layout as the rules do, and asks them far less often: %s', (_sentence, model, over, stack) => {
    const { legal, illegal, differing, asked } = judge(model, over, stack);
    expect(differing).toEqual([]);
    expect(legal).toBeGreaterThan(50);
    expect(illegal).toBeGreaterThan(50);
    expect(asked).toBeLessThan((legal + illegal) / 4);
  });
});
