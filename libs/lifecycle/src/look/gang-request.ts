import type { placeGang, PlacementOutcome } from '@coxswain/fabric';

/** What a gang asks of the fabric. */
export type GangRequest = Parameters<typeof placeGang>[0];

/** Why it cannot be placed, and what it would need. */
export type PlacementRefusal = Exclude<PlacementOutcome, { readonly kind: 'placed' }>;
