/** Which choices of states and pipelines does a mesh leave? The same for many meshes, so each list is made once. */
import {
  passGroupsOf,
  pipelineChoicesOf,
  shardGroupsOf,
  stateChoicesOf,
  type DenseMesh,
  type PassGroup,
  type PipelineChoice,
  type SpaceFacts,
} from '../space/search-space.ts';
import type { Numbered } from './legality-cache.ts';
import { remembered } from './memo.ts';

/** All layouts of one mesh. */
export interface Subspace {
  readonly groups: readonly PassGroup[];
  readonly schedules: readonly ScheduleGroup[];
  readonly pipelines: number;
  /** How many layouts it holds. */
  readonly size: number;
}

/** Pipelines that differ in how layers are distributed. */
export interface ScheduleGroup {
  readonly schedule: PipelineChoice['schedule'];
  readonly chunks: number;
  readonly pipelines: Numbered<PipelineChoice>[];
}

export class Subspaces {
  readonly #space: SpaceFacts;
  readonly #known = new Map<string, Subspace>();

  constructor(space: SpaceFacts) {
    this.#space = space;
  }

  of(mesh: DenseMesh): Subspace {
    const key = `${mesh.pipeline}/${mesh.data * mesh.context}/${shardGroupsOf(this.#space, mesh).join()}`;
    return remembered(this.#known, key, () => {
      const states = stateChoicesOf(this.#space, mesh);
      const pipelines = pipelineChoicesOf(this.#space, mesh);
      return {
        groups: passGroupsOf(states),
        schedules: scheduleGroupsOf(pipelines),
        pipelines: pipelines.length,
        size: states.length * pipelines.length,
      };
    });
  }
}

function scheduleGroupsOf(pipelines: readonly PipelineChoice[]): readonly ScheduleGroup[] {
  const groups: ScheduleGroup[] = [];
  for (const [index, choice] of pipelines.entries()) {
    const { schedule, chunks } = choice;
    const group = groups.find((known) => known.schedule === schedule && known.chunks === chunks);
    if (group === undefined) groups.push({ schedule, chunks, pipelines: [{ choice, index }] });
    else group.pipelines.push({ choice, index });
  }
  return groups;
}
