import type { placeGang, PlacementOutcome } from '@coxswain/fabric';

/** What a gang asks for: a layout and where its ranks may go. */
export type GangRequest = Parameters<typeof placeGang>[0] & {
  /** UID of a job whose last gang lost nodes. It may use reserved nodes, so a refusal to another job does not apply to it. */
  readonly replacing?: string;
};

/** Why the gang cannot be placed, and what it would need. */
export type PlacementRefusal = Exclude<PlacementOutcome, { readonly kind: 'placed' }>;
