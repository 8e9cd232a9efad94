/**
 * Finds better examples of excluded layouts. The search first meets unusual layouts, such as one GPU that holds the whole model. The example shown is the layout
 * that breaks the same rule and is nearest to the answer, or to a usual layout if there is no answer.
 */
import { constantsOf } from '../calibration/calibration-in-use.ts';
import type { RuledOut } from '../contract.ts';
import type { CandidateLayout } from '../facts.ts';
import { runOnGpus, type ResolvedRequest } from '../request/resolved-request.ts';
import type { SearchLimits } from '../search/branch-and-bound.ts';
import { plainCandidateOf, withoutExperts } from '../search/decided-layout.ts';
import type { LayoutModels } from '../search/layout-models.ts';
import { RunModels } from '../search/run-models.ts';
import { isRule } from '../search/search-stats.ts';
import {
  denseMeshesOf,
  expertGridsOf,
  pipelineChoicesOf,
  stateChoicesOf,
  withStates,
  type DenseMesh,
  type Mesh,
  type SpaceFacts,
} from '../space/search-space.ts';
import { spaceOf } from '../space/space-of-request.ts';
import { StagePartitions } from '../space/stage-partitions.ts';
import { sortByDistance, usualDegreesOf } from './near-meshes.ts';
import { nearestTooLarge, nearestTooSlow } from './near-limits.ts';

/** Largest number of layouts that are checked against all rules. */
const MOST_JUDGED = 400;
/** Largest number of legal meshes whose pipelines and states are checked. */
const MOST_LEGAL = 12;

/** Weight of a doubling of the expert tensor degree in distances, because it is rarely used. */
const RARE = 4;

/** The layout of the answer, if there is one, and its number of GPUs. */
export interface AnsweredLayout {
  readonly candidate?: CandidateLayout | undefined;
  readonly gpus: number;
}

/** The excluded layouts with the nearest examples; the example of the search is kept if no nearer one is found. */
export function withNearExamples(
  resolved: ResolvedRequest,
  ruledOut: readonly RuledOut[],
  answered: AnsweredLayout,
  limits: SearchLimits,
): RuledOut[] {
  const run = runOnGpus(resolved, answered.gpus);
  const asked = spaceOf(resolved, run);
  const space: SpaceFacts = {
    ...asked,
    allow: { ...asked.allow, rankOrders: ['tp-cp-dp-pp'] },
    pinned: { microBatchSize: 1, ...asked.pinned },
  };
  const models = new RunModels(run, constantsOf(run));
  const near = { space, models, partitions: new StagePartitions(run.model) };
  const usual = answered.candidate ?? usualDegreesOf(run);
  const meshes = sortByDistance([...denseMeshesOf(space, firstLegalOf(near))], usual);
  const found = new NearRefusals(near, ruledOut, usual).among(meshes);
  for (const { rule } of ruledOut) {
    const { candidate } = answered;
    if (candidate === undefined || isRule({ rule })) continue;
    const example =
      rule === 'memory'
        ? nearestTooLarge({ ...near, run, meshes, space: asked }, candidate, limits.peakBytes)
        : nearestTooSlow(resolved, { candidate, gpus: answered.gpus }, limits);
    if (example !== undefined) found.set(rule, example);
  }
  return ruledOut.map((broken) => ({ ...broken, example: found.get(broken.rule) ?? broken.example }));
}

interface Near {
  readonly space: SpaceFacts;
  readonly models: LayoutModels;
  readonly partitions: StagePartitions;
}

function firstLegalOf({ models, partitions }: Near): Parameters<typeof denseMeshesOf>[1] {
  return (mesh, algorithms) => {
    const isLegal = (contextAlgorithm: DenseMesh['contextAlgorithm']): boolean =>
      models.degreeRefusalOf(plainCandidateOf(withoutExperts({ ...mesh, contextAlgorithm }), partitions)) === undefined;
    return algorithms.find(isLegal) ?? mesh.contextAlgorithm;
  };
}

/** Finds the first layout, in order of distance, that breaks each rule. */
class NearRefusals {
  readonly #near: Near;
  readonly #usual: Pick<Mesh, 'expert' | 'expertTensor'>;
  readonly #open: Set<string>;
  readonly #found = new Map<string, string>();
  #judged = 0;

  constructor(near: Near, ruledOut: readonly RuledOut[], usual: Pick<Mesh, 'expert' | 'expertTensor'>) {
    this.#near = near;
    this.#usual = usual;
    this.#open = new Set(ruledOut.filter(isRule).map(({ rule }) => rule));
  }

  among(meshes: readonly DenseMesh[]): Map<string, string> {
    const legal: Mesh[] = [];
    for (const mesh of meshes) {
      if (this.#open.size === 0) return this.#found;
      const whole = this.#legalGridOf(mesh);
      if (whole !== undefined && legal.length < MOST_LEGAL) legal.push(whole);
    }
    for (const mesh of legal) this.#checkChoices(mesh);
    return this.#found;
  }

  /** The mesh with the legal expert degrees that are nearest to those of the answer. */
  #legalGridOf(mesh: DenseMesh): Mesh | undefined {
    const { space, partitions } = this.#near;
    if (!this.#isLegal(plainCandidateOf(withoutExperts(mesh), partitions), 'degrees')) return undefined;
    const doublings = ({ expert, expertTensor }: Pick<Mesh, 'expert' | 'expertTensor'>): number =>
      Math.abs(Math.log2(expert / this.#usual.expert)) +
      RARE * Math.abs(Math.log2(expertTensor / this.#usual.expertTensor));
    const wholes = expertGridsOf(space, mesh).map((grid): Mesh => ({ ...mesh, ...grid }));
    wholes.sort((a, b) => doublings(a) - doublings(b));
    return wholes.filter((whole) => this.#isLegal(plainCandidateOf(whole, partitions), 'all'))[0];
  }

  #checkChoices(mesh: Mesh): void {
    const { space, partitions } = this.#near;
    const plain = plainCandidateOf(mesh, partitions);
    for (const { schedule, chunks, partition } of mesh.pipeline > 1 ? pipelineChoicesOf(space, mesh) : []) {
      if (partition !== 'even') continue;
      const stages = partitions.of(mesh.pipeline, { chunks, partition }, () => []);
      this.#isLegal({ ...plain, schedule, chunks, ...stages }, 'all');
    }
    for (const states of stateChoicesOf(space, mesh)) this.#isLegal(withStates(plain, states, space.model), 'all');
  }

  #isLegal(candidate: CandidateLayout, rules: 'degrees' | 'all'): boolean {
    if (this.#open.size === 0) return true;
    const { models } = this.#near;
    const ofDegrees = models.degreeRefusalOf(candidate);
    const mayJudge = ofDegrees === undefined && rules === 'all' && this.#judged++ < MOST_JUDGED;
    const refusal = ofDegrees ?? (mayJudge ? models.refusalOf(candidate) : undefined);
    if (refusal !== undefined && this.#open.delete(refusal.rule)) this.#found.set(refusal.rule, refusal.message);
    return refusal === undefined;
  }
}
