/**
 * Finds the best layouts of the space by branch and bound, and counts what excludes the others.
 *
 * Branch and bound over the levels of `search-space.ts`: dense mesh, experts, passes, pipeline, states. A branch is pruned when a rule forbids it
 * or when the least memory that it can take does not fit. It is pruned too when lower bounds of its time, memory and complexity show that nothing in it
 * can enter the best few or the Pareto front, or be the simplest of the fastest. Bounds come from the models, are never above what they bound, and only prune strictly: the result equals that of
 * plain enumeration, in the same order.
 */
import type { CandidateLayout } from '../facts.ts';
import {
  denseMeshesOf,
  expertGridsOf,
  partitionsOf,
  candidateOfMesh,
  withPassGroup,
  withStates,
  type DenseMesh,
  type ExpertGrid,
  type Mesh,
  type SpaceFacts,
} from '../space/search-space.ts';
import { StagePartitions } from '../space/stage-partitions.ts';
import { decidedCandidate, fastestAlgorithm, withoutExperts, type Deciding } from './decided-layout.ts';
import { meshComplexity } from './complexity.ts';
import { ParetoFront, type BestLayouts, type MeasuredLayout } from './kept-layouts.ts';
import type { Bounds, LayoutModels, PassModels, PipelineModels, Refusal } from './layout-models.ts';
import { orderOf } from './layout-order.ts';
import { StableMinHeap } from './stable-min-heap.ts';
import { LegalityCache } from './legality-cache.ts';
import type { SimplestLayouts } from './simplest-layouts.ts';
import { countRuledOut, newStats, formatTooLarge, formatTooSlow, type SearchStats } from './search-stats.ts';
import { Subspaces, type PipelinePlace, type Subspace, type WeighedGroup } from './subspaces.ts';
import { warmStartSpaceOf } from './warm-start.ts';

/** Limits that every answer keeps. */
export interface SearchLimits {
  /** Largest memory of a GPU that a layout may use, in bytes. */
  readonly peakBytes: number;
  readonly stepTimeS: number;
}

/** The input of a search on one number of GPUs, and where it puts its results. */
export interface LayoutSearch {
  readonly space: SpaceFacts;
  readonly models: LayoutModels;
  readonly limits: SearchLimits;
  readonly best: BestLayouts;
  readonly front: ParetoFront;
  readonly simplest: SimplestLayouts;
  readonly stats: SearchStats;
  /** Whether meshes with the least memory are tried first, instead of the fastest. */
  readonly smallestFirst: boolean;
  /** Which results are needed: only `best`, which is faster; `best` and `simplest`; or whether there is `any` layout. Absent: all. */
  readonly wanted?: 'best' | 'simplest' | 'any' | undefined;
}

/** Results so far, which prune branches that cannot improve them. */
type Incumbents = Pick<LayoutSearch, 'best' | 'front' | 'simplest'>;

/** Searches all layouts on one number of GPUs; adds results to `best`, `front` and `simplest`. */
export function searchLayouts(search: LayoutSearch): void {
  new BranchAndBound(search, warmStart(search)).run();
}

function warmStart(search: LayoutSearch): Incumbents {
  const incumbents = {
    best: search.best.emptyCopy(),
    front: new ParetoFront(),
    simplest: search.simplest.emptyCopy(),
  };
  // The first layout ends this search, so a warm start does not help.
  if (search.wanted === 'any') return incumbents;
  const space = warmStartSpaceOf(search.space);
  const narrowed = { ...search, ...incumbents, space, stats: newStats(), smallestFirst: false };
  new BranchAndBound(narrowed, incumbents).run();
  return incumbents;
}

/** A dense mesh whose expert degrees are not decided. */
interface DenseBranch {
  readonly mesh: DenseMesh;
  readonly subspace: Subspace;
  readonly index: number;
  readonly bounds: readonly Bounds[];
  /** Least complexity of the layouts of the branch. */
  readonly complexity: number;
}

interface MeshBranch {
  readonly mesh: Mesh;
  readonly subspace: Subspace;
  readonly grid: ExpertGrid;
  readonly place: MeshPlace;
  readonly bounds: readonly Bounds[];
  readonly complexity: number;
}

/** A branch at which mesh and passes are decided. */
interface PassBranch {
  readonly mesh: Mesh;
  readonly place: MeshPlace;
  readonly candidate: CandidateLayout;
  /** Complexity of mesh and passes. */
  readonly complexity: number;
  readonly group: WeighedGroup;
  readonly subspace: Subspace;
  readonly passes: PassModels;
}

/** Lower bounds of a branch, complexity included. */
type WeighedBounds = Bounds & { readonly complexity: number };

interface MeshPlace {
  readonly dense: number;
  readonly expert: number;
}

class BranchAndBound {
  readonly #search: LayoutSearch;
  /** Results of the warm start. */
  readonly #incumbents: Incumbents;
  readonly #gpus: number;
  readonly #deciding: Deciding;
  readonly #legality: LegalityCache<Subspace>;
  readonly #subspaces: Subspaces;
  readonly #branches = new StableMinHeap<DenseBranch | MeshBranch>();

  constructor(search: LayoutSearch, incumbents: Incumbents) {
    const { space, models } = search;
    this.#search = search;
    this.#incumbents = incumbents;
    this.#gpus = space.cluster.gpus;
    this.#deciding = { space, models, partitions: new StagePartitions(space.model, partitionsOf(space)) };
    this.#legality = new LegalityCache(this.#deciding, models);
    this.#subspaces = new Subspaces(space);
  }

  run(): void {
    this.#addDenseMeshes();
    for (let branch = this.#branches.pop(); branch !== undefined; branch = this.#branches.pop()) {
      if (this.#hasEnough()) return;
      if ('grid' in branch) this.#tryMesh(branch);
      else this.#tryDenseMesh(branch);
    }
  }

  #addDenseMeshes(): void {
    const { space, models, stats } = this.#search;
    let index = 0;
    for (const mesh of denseMeshesOf(space, fastestAlgorithm(models, this.#legality))) {
      index++;
      const subspace = this.#subspaces.of(mesh);
      const size = subspace.size * expertGridsOf(space, mesh).length;
      stats.enumerated += size;
      const refusal = this.#legality.degreeRefusal(mesh);
      if (refusal !== undefined) this.#refuse(refusal, size);
      else this.#add(this.#denseBranch(mesh, subspace, index), size);
    }
  }

  #denseBranch(mesh: DenseMesh, subspace: Subspace, index: number): DenseBranch {
    const whole = withoutExperts(mesh);
    const bounds = this.#search.models.denseBounds(candidateOfMesh(whole));
    return { mesh, subspace, index, bounds, complexity: this.#meshComplexity(whole) };
  }

  #meshComplexity(mesh: Mesh): number {
    return meshComplexity(mesh, this.#search.space.cluster);
  }

  /** Queues a branch of `size` layouts unless it is pruned. */
  #add(branch: DenseBranch | MeshBranch, size: number): void {
    if (this.#pruneAll(branch, size)) return;
    const least = this.#leastOf(branch.bounds);
    this.#branches.push(this.#search.smallestFirst ? least.bytes : least.timeS, branch);
  }

  #leastOf(bounds: readonly Bounds[]): Bounds {
    const fitting = bounds.filter(({ bytes }) => bytes <= this.#search.limits.peakBytes);
    return {
      timeS: Math.min(...fitting.map(({ timeS }) => timeS)),
      bytes: Math.min(...bounds.map(({ bytes }) => bytes)),
    };
  }

  #tryDenseMesh(branch: DenseBranch): void {
    const { mesh, subspace, index, bounds } = branch;
    const { space, models } = this.#search;
    const grids = expertGridsOf(space, mesh);
    const size = subspace.size * grids.length;
    if (this.#pruneAll(branch, size)) return;
    const denseRefusal = this.#legality.denseRefusal(mesh);
    if (denseRefusal !== undefined) {
      this.#refuse(denseRefusal, size);
      return;
    }
    for (const [expert, grid] of grids.entries()) {
      const whole = { ...mesh, expert: grid.expert, expertTensor: grid.expertTensor };
      const refusal = this.#legality.expertRefusal(whole);
      if (refusal !== undefined) {
        this.#refuse(refusal, subspace.size);
        continue;
      }
      const ofGrid = space.model.experts === undefined ? bounds : models.meshBounds(candidateOfMesh(whole));
      const complexity = this.#meshComplexity(whole);
      const place = { dense: index, expert };
      this.#add({ mesh: whole, subspace, place, bounds: ofGrid, complexity, grid }, subspace.size);
    }
  }

  #tryMesh(branch: MeshBranch): void {
    const { mesh, subspace, place } = branch;
    const { space, models } = this.#search;
    if (this.#pruneAll(branch, subspace.size)) return;
    const candidate = candidateOfMesh(mesh);
    const branches = subspace.groups.map((group): PassBranch => {
      const minMemory = withPassGroup(candidate, group, space.model);
      const complexity = branch.complexity + group.complexity;
      return { mesh, place, candidate: minMemory, complexity, group, subspace, passes: models.withPasses(minMemory) };
    });
    branches.sort((a, b) => a.passes.bounds.timeS - b.passes.bounds.timeS);
    for (const passes of branches) {
      if (this.#hasEnough()) return;
      this.#tryPasses(passes);
    }
  }

  #hasEnough(): boolean {
    const { wanted, stats } = this.#search;
    return wanted === 'any' && stats.timed > 0;
  }

  #tryPasses(branch: PassBranch): void {
    const { group, passes, subspace, complexity } = branch;
    const count = group.members.length;
    if (this.#prune({ ...passes.bounds, complexity }, count * subspace.pipelines)) return;
    for (const schedule of subspace.schedules) {
      const bounds = passes.scheduleBounds(schedule);
      const least = { ...bounds, complexity: complexity + schedule.complexity };
      if (this.#prune(least, count * schedule.pipelines.length)) continue;
      for (const pipeline of schedule.pipelines) this.#tryPipeline(branch, pipeline, bounds.bytes);
    }
  }

  #tryPipeline(branch: PassBranch, pipeline: PipelinePlace, leastBytes: number): void {
    const { group, mesh } = branch;
    const complexity = branch.complexity + pipeline.complexity;
    const count = group.members.length;
    const refusal = this.#legality.pipelineRefusal(mesh, pipeline);
    if (refusal !== undefined) {
      this.#refuse(refusal, count);
      return;
    }
    const leaf = { candidate: branch.candidate, choice: group.minMemory, pipeline: pipeline.choice };
    const minMemory = decidedCandidate({ ...this.#deciding, models: branch.passes }, leaf);
    if (minMemory === undefined) {
      this.#search.stats.repeated += count;
      return;
    }
    const models = branch.passes.withPipeline(minMemory);
    const timeS = models.leastS;
    if (this.#prune({ timeS, bytes: leastBytes, complexity }, count)) return;
    const closerS = models.closerLeastS();
    if (this.#prune({ timeS: closerS, bytes: leastBytes, complexity }, count)) return;
    const bytes = models.leastBytes();
    if (this.#prune({ timeS: closerS, bytes, complexity }, count)) return;
    this.#tryStates(branch, { minMemory, models, bytes, pipeline });
  }

  #tryStates(
    { mesh, group, place, subspace, complexity: ofPasses }: PassBranch,
    on: {
      readonly minMemory: CandidateLayout;
      readonly models: PipelineModels;
      readonly bytes: number;
      readonly pipeline: PipelinePlace;
    },
  ): void {
    const { stats, space, limits } = this.#search;
    const { models, minMemory, bytes } = on;
    for (const member of group.members) {
      const { choice, index } = member;
      const complexity = ofPasses - group.complexity + member.complexity + on.pipeline.complexity;
      const refusal = this.#legality.stateRefusal(mesh, subspace, member);
      if (refusal !== undefined) {
        this.#refuse(refusal, 1);
        continue;
      }
      const candidate = withStates(minMemory, choice, space.model);
      const boundS = models.timeBoundS(candidate, index);
      stats.evaluated++;
      if (this.#prune({ timeS: boundS, bytes, complexity }, 1)) continue;
      const peakBytes = models.peakBytes(candidate, index);
      if (this.#prune({ timeS: boundS, bytes: peakBytes, complexity }, 1)) continue;
      if (this.#prune({ timeS: models.closerBoundS(candidate, index), bytes: peakBytes, complexity }, 1)) continue;
      const isUseful = (timeS: number): boolean =>
        timeS <= limits.stepTimeS && !this.#excludes({ timeS, bytes: peakBytes, complexity });
      const stepTimeS = models.stepTimeS(candidate, index, isUseful);
      if (this.#prune({ timeS: stepTimeS, bytes: peakBytes, complexity }, 1)) continue;
      const order = orderOf({ ...place, state: index, pipeline: on.pipeline.index });
      this.#keep({ candidate, gpus: this.#gpus, stepTimeS, peakBytes, order }, complexity);
    }
  }

  #keep(layout: MeasuredLayout, complexity: number): void {
    const { stats, best, front, simplest } = this.#search;
    stats.timed++;
    best.offer(layout);
    front.offer(layout);
    simplest.offer(layout, complexity);
  }

  /** Prunes and counts `size` layouts if each of these bounds allows it; returns whether it did. */
  #pruneAll({ bounds, complexity }: Pick<DenseBranch, 'bounds' | 'complexity'>, size: number): boolean {
    const { limits } = this.#search;
    const possible = bounds.filter(
      ({ timeS, bytes }) =>
        bytes <= limits.peakBytes && timeS <= limits.stepTimeS && !this.#excludes({ timeS, bytes, complexity }),
    );
    const [first] = bounds;
    if (possible.length > 0 || first === undefined) return false;
    return this.#prune({ ...(bounds.find(({ bytes }) => bytes <= limits.peakBytes) ?? first), complexity }, size);
  }

  /** Prunes and counts `size` layouts if these bounds allow it; returns whether it did. */
  #prune({ timeS, bytes, complexity }: WeighedBounds, size: number): boolean {
    const { limits, stats } = this.#search;
    if (bytes > limits.peakBytes) {
      countRuledOut(stats, 'memory', size, () => formatTooLarge(bytes, limits.peakBytes));
      return true;
    }
    if (timeS > limits.stepTimeS) {
      countRuledOut(stats, 'deadline', size, () => formatTooSlow(timeS, limits.stepTimeS));
      return true;
    }
    if (!this.#excludes({ timeS, bytes, complexity })) return false;
    stats.bounded += size;
    return true;
  }

  #excludes({ timeS, bytes, complexity }: WeighedBounds): boolean {
    const { best, front, simplest, wanted } = this.#search;
    const incumbents = this.#incumbents;
    if (wanted === undefined && !front.excludes(timeS, bytes) && !incumbents.front.excludes(timeS, bytes)) return false;
    if (wanted === undefined || wanted === 'simplest') {
      if (!simplest.excludes(timeS, complexity) && !incumbents.simplest.excludes(timeS, complexity)) return false;
    }
    return best.excludes(timeS, bytes, this.#gpus) || incumbents.best.excludes(timeS, bytes, this.#gpus);
  }

  #refuse({ rule, message }: Refusal, size: number): void {
    countRuledOut(this.#search.stats, rule, size, () => message);
  }
}
