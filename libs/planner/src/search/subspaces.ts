/** Choices of states and pipelines for each mesh; meshes share lists. */
import {
  passGroupsOf,
  pipelineChoicesOf,
  stateChoicesOf,
  type DenseMesh,
  type PassGroup,
  type PipelineChoice,
  type SpaceFacts,
} from '../space/search-space.ts';
import { gatherGroupsOf, shardGroupsOf } from '../space/shard-groups.ts';
import { mayCopy } from '../space/shared-states.ts';
import { partitionComplexity, scheduleComplexity, statesComplexity } from './complexity.ts';
import type { Numbered } from './legality-cache.ts';
import { getOrCompute } from './get-or-compute.ts';

/** A group of passes with the complexity of each choice, and the least of them. */
export interface WeighedGroup extends PassGroup {
  readonly members: readonly (PassGroup['members'][number] & { readonly complexity: number })[];
  readonly complexity: number;
}

/** A pipeline with its complexity. */
export type PipelinePlace = Numbered<PipelineChoice> & { readonly complexity: number };

/** All layouts of one mesh. */
export interface Subspace {
  readonly groups: readonly WeighedGroup[];
  readonly schedules: readonly ScheduleGroup[];
  readonly pipelines: number;
  /** How many layouts it holds. */
  readonly size: number;
}

/** Pipelines that differ only in the distribution of layers. */
export interface ScheduleGroup {
  readonly schedule: PipelineChoice['schedule'];
  readonly chunks: number;
  /** Least complexity. */
  readonly complexity: number;
  readonly pipelines: PipelinePlace[];
}

/** Subspaces of meshes, cached. */
export class Subspaces {
  readonly #space: SpaceFacts;
  readonly #known = new Map<string, Subspace>();

  constructor(space: SpaceFacts) {
    this.#space = space;
  }

  of(mesh: DenseMesh): Subspace {
    const ranks = `${mesh.pipeline}/${mesh.data * mesh.context}/${mayCopy(this.#space, mesh)}`;
    const groups = shardGroupsOf(this.#space, mesh);
    const key = `${ranks}/${groups.join()}/${gatherGroupsOf(this.#space, mesh, groups).join()}`;
    return getOrCompute(this.#known, key, () => {
      const states = stateChoicesOf(this.#space, mesh);
      const pipelines = pipelineChoicesOf(this.#space, mesh);
      return {
        groups: passGroupsOf(states).map((group) => this.#weighed(group, mesh)),
        schedules: scheduleGroupsOf(pipelines, mesh.pipeline),
        pipelines: pipelines.length,
        size: states.length * pipelines.length,
      };
    });
  }

  #weighed({ members, minMemory }: PassGroup, mesh: DenseMesh): WeighedGroup {
    const engine = { replicas: mesh.data * mesh.context, plainStages: this.#space.plainZeroStages ?? PLAIN_STAGES };
    const weighed = members.map((member) => ({ ...member, complexity: statesComplexity(member.choice, engine) }));
    return { members: weighed, minMemory, complexity: Math.min(...weighed.map(({ complexity }) => complexity)) };
  }
}

/** Each rank keeps its weights and gradients, with the optimizer sharded or not. */
const PLAIN_STAGES = [0, 1];

function scheduleGroupsOf(pipelines: readonly PipelineChoice[], stages: number): readonly ScheduleGroup[] {
  const groups: ScheduleGroup[] = [];
  for (const [index, choice] of pipelines.entries()) {
    const { schedule, chunks } = choice;
    const ofSchedule = scheduleComplexity(choice, stages);
    const place = { choice, index, complexity: ofSchedule + partitionComplexity(choice, stages) };
    const group = groups.find((known) => known.schedule === schedule && known.chunks === chunks);
    if (group === undefined) groups.push({ schedule, chunks, complexity: ofSchedule, pipelines: [place] });
    else group.pipelines.push(place);
  }
  return groups;
}
