/** Order of layouts in the space. It breaks ties, so that a search has the result of plain enumeration. */

/** Indices of a layout in the lists of the space, by level. */
export interface LayoutPlace {
  readonly dense: number;
  readonly expert: number;
  readonly state: number;
  readonly pipeline: number;
}

/** No request reaches these: 64 islands of different sizes leave fewer than 4,300 choices of states, 65,536 experts 34 grids, all schedules 69. */
const EXPERTS = 512;
const STATES = 8192;
const PIPELINES = 512;
/** What is left of the whole numbers that a double holds exactly. */
const DENSE_MESHES = Math.floor(Number.MAX_SAFE_INTEGER / (EXPERTS * STATES * PIPELINES));

/** A number that orders layouts by their indices, first level first. Throws if an index is too large. */
export function orderOf({ dense, expert, state, pipeline }: LayoutPlace): number {
  if (!(dense < DENSE_MESHES && expert < EXPERTS && state < STATES && pipeline < PIPELINES)) {
    throw new Error(`layout ${dense}/${expert}/${state}/${pipeline} is beyond the places that can be numbered`);
  }
  return ((dense * EXPERTS + expert) * STATES + state) * PIPELINES + pipeline;
}
