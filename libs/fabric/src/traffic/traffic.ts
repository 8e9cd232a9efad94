/** What the ranks of a layout send each other in a step, group by group: what a placement is judged by. */

/** Kinds of process groups, named as in the glossary. `embedding`: the first and the last stage where they share the embedding's weights. */
export const TRAFFIC_KINDS = [
  'tensor',
  'weightShard',
  'context',
  'expertTensor',
  'expert',
  'data',
  'expertData',
  'pipeline',
  'embedding',
] as const;
/** A kind of process group, by the name of the glossary. */
export type TrafficKind = (typeof TRAFFIC_KINDS)[number];

/**
 * Who sends to whom within a group, its members in rank order (NCCL's rings follow it across nodes):
 *
 * - `ring`: each member to the next, the last to the first. Of two members one pair in each direction.
 * - `allToAll`: each member to each other one.
 * - `chain`: each member to the next and back; nothing between the last and the first.
 */
export type TrafficPattern = 'ring' | 'allToAll' | 'chain';

/** Groups of one kind; each has the same pattern and bytes. A kind whose members exchange in several ways stands once for each. */
export interface GroupTraffic {
  readonly kind: TrafficKind;
  readonly pattern: TrafficPattern;
  /**
   * Bytes in a step of training from one member to the one that it sends to; of a chain: there and back together. So a ring of `n` moves
   * `n * bytesPerPair`, an all-to-all `n * (n - 1) * bytesPerPair`, a chain `(n - 1) * bytesPerPair`.
   */
  readonly bytesPerPair: number;
  /** Ranks of each group, ascending. Groups of one member are left out. */
  readonly groups: readonly (readonly number[])[];
}

/** The traffic of a layout in one training step. */
export interface LayoutTraffic {
  readonly byKind: readonly GroupTraffic[];
  /** planned: from the job's model and batch. assumed: of a usual model, where the job says none. */
  readonly source: 'planned' | 'assumed';
}

/**
 * What lies between two GPUs, near to far. Bytes that cross one cross all nearer ones too. Switches beyond the third tier count as `core`.
 */
export const BOUNDARIES = ['gpu', 'node', 'nvlinkDomain', 'leaf', 'spine', 'core', 'island'] as const;
/** One of {@link BOUNDARIES}. */
export type Boundary = (typeof BOUNDARIES)[number];

/** Bytes per step over each boundary. */
export type CrossingBytes = Readonly<Record<Boundary, number>>;
