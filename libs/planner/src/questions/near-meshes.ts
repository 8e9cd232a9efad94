/** Distances between meshes. */
import { divisorsOf } from '@coxswain/layout';
import { parametersOf } from '../memory/parameters.ts';
import type { RunBase } from '../request/resolved-request.ts';
import type { DenseMesh, Mesh } from '../space/search-space.ts';

/** Degrees of a dense mesh. */
export type Degrees = Pick<DenseMesh, 'tensor' | 'context' | 'pipeline' | 'data'>;

/** Models with at least this many parameters usually have tensor groups as large as a node. */
const LARGE_PARAMETERS = 20e9;

/** Usual degrees: tensor groups of a node for a large model, data parallelism, and experts spread over a node. */
export function usualDegreesOf({ model, cluster }: RunBase): Degrees & Pick<Mesh, 'expert' | 'expertTensor'> {
  const { gpus, gpusPerNode } = cluster;
  const groups = divisorsOf(gpus).filter((size) => size <= gpusPerNode && model.attentionHeads % size === 0);
  const tensor = parametersOf(model).total < LARGE_PARAMETERS ? 1 : Math.max(...groups);
  const expert = model.experts === undefined ? 1 : Math.min(gpus, gpusPerNode, model.experts.count);
  return { tensor, context: 1, pipeline: 1, data: gpus / tensor, expert, expertTensor: 1 };
}

/** Sum of the doublings of each degree between two meshes. */
export function doublingsBetween(mesh: Degrees, other: Degrees): number {
  const doublings = (axis: keyof Degrees): number => Math.abs(Math.log2(mesh[axis] / other[axis]));
  return doublings('tensor') + doublings('context') + doublings('pipeline') + doublings('data');
}

/** The meshes, those nearest to `to` first. */
export function sortByDistance<Division extends Degrees>(
  meshes: readonly Division[],
  to: Degrees,
): readonly Division[] {
  return meshes
    .map((mesh) => ({ mesh, doublings: doublingsBetween(mesh, to) }))
    .sort((a, b) => a.doublings - b.doublings)
    .map(({ mesh }) => mesh);
}
