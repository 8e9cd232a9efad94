import type { placeGang, PlacementOutcome } from '@coxswain/fabric';

/** What a gang asks of the fabric. */
export type GangRequest = Parameters<typeof placeGang>[0] & {
  /** UID of a job whose last gang lost nodes: it may have nodes in reserve, so what is refused to others is not refused to it. */
  readonly replacing?: string;
};

/** Why it cannot be placed, and what it would need. */
export type PlacementRefusal = Exclude<PlacementOutcome, { readonly kind: 'placed' }>;
