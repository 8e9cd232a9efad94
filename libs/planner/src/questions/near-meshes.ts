/** How far from an answer does another division of the GPUs lie? */
import { divisorsOf } from '@coxswain/layout';
import { parametersOf } from '../memory/parameters.ts';
import type { RunBase } from '../request/resolved-request.ts';
import type { DenseMesh, Mesh } from '../space/search-space.ts';

export type Degrees = Pick<DenseMesh, 'tensor' | 'context' | 'pipeline' | 'data'>;

/** Models from here on are usually divided over the GPUs of a node. */
const LARGE_PARAMETERS = 20e9;

/** What a person tries first: tensor groups of a node for a large model, replicas, and experts spread over a node. */
export function usualDegreesOf({ model, cluster }: RunBase): Degrees & Pick<Mesh, 'expert' | 'expertTensor'> {
  const { gpus, gpusPerNode } = cluster;
  const groups = divisorsOf(gpus).filter((size) => size <= gpusPerNode && model.attentionHeads % size === 0);
  const tensor = parametersOf(model).total < LARGE_PARAMETERS ? 1 : Math.max(...groups);
  const expert = model.experts === undefined ? 1 : Math.min(gpus, gpusPerNode, model.experts.count);
  return { tensor, context: 1, pipeline: 1, data: gpus / tensor, expert, expertTensor: 1 };
}

/** Doublings between two divisions, of which what holds the model (tensor, pipeline) counts as much as what it leaves to the batch. */
export function doublingsBetween(mesh: Degrees, other: Degrees): number {
  const doublings = (axis: keyof Degrees): number => Math.abs(Math.log2(mesh[axis] / other[axis]));
  return doublings('tensor') + doublings('context') + doublings('pipeline') + doublings('data');
}

export function nearestFirst<Division extends Degrees>(meshes: readonly Division[], to: Degrees): readonly Division[] {
  return meshes
    .map((mesh) => ({ mesh, doublings: doublingsBetween(mesh, to) }))
    .sort((a, b) => a.doublings - b.doublings)
    .map(({ mesh }) => mesh);
}
