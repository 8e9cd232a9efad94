/**
 * Of what was ruled out, which example would a person have tried? The search meets first what is divided least or oddest: one GPU that holds all, a sample cut in six.
 * What is told is the layout nearest to the answer, or where there is none to a usual one, that breaks the same rule.
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
import { nearestFirst, usualDegreesOf } from './near-meshes.ts';
import { tooLargeNear, tooSlowNear } from './near-limits.ts';

/** Whole layouts that are put to all rules, so that looking for examples has an end. */
const MOST_JUDGED = 400;
/** Legal divisions whose pipelines and states are looked at. */
const MOST_LEGAL = 12;

/** Few divide the tensors of experts, so that a doubling of that is as far as so many others. */
const RARE = 4;

/** What the answer is: a layout, where there is one, and on how many GPUs. */
export interface Answered {
  readonly candidate?: CandidateLayout | undefined;
  readonly gpus: number;
}

/** The same rules and counts, with the nearest example that was found; where none was, that of the search. */
export function withNearExamples(
  resolved: ResolvedRequest,
  ruledOut: readonly RuledOut[],
  answered: Answered,
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
  const meshes = nearestFirst([...denseMeshesOf(space, firstLegalOf(near))], usual);
  const found = new NearRefusals(near, ruledOut, usual).among(meshes);
  for (const { rule } of ruledOut) {
    const { candidate } = answered;
    if (candidate === undefined || isRule({ rule })) continue;
    const example =
      rule === 'memory'
        ? tooLargeNear({ ...near, run, meshes, space: asked }, candidate, limits.peakBytes)
        : tooSlowNear(resolved, { candidate, gpus: answered.gpus }, limits);
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

/** Refusals by rule, each of the first layout that broke it. */
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
    for (const mesh of legal) this.#lookInside(mesh);
    return this.#found;
  }

  /** The mesh with its experts divided as nearly like those of the answer as rules let them. */
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

  #lookInside(mesh: Mesh): void {
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
