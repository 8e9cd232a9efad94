import type { FabricCapacity, placeGang, PlacementOutcome } from '@coxswain/fabric';

/** What a gang asks for: a layout and where its ranks may go. */
export type GangRequest = Parameters<typeof placeGang>[0] & {
  /** UID of a job whose last gang lost nodes. It may use reserved nodes, so a refusal to another job does not apply to it. */
  readonly replacing?: string;
  /** Pods beside the gang that can take the place of one of its pods. Placed if nodes are free, and always counted by queues of Kueue. */
  readonly standbys?: number;
};

/** Why the gang cannot be placed, and what it would need. */
export type PlacementRefusal = Exclude<PlacementOutcome, { readonly kind: 'placed' }>;

/** A job as messages name it. */
export interface JobName {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Nodes for a gang are to be searched on that capacity. */
export interface NodeQuestion {
  readonly job: JobName;
  readonly request: GangRequest;
  readonly capacity: FabricCapacity;
}

/** No nodes were found for the request of the job of that UID. */
export interface RefusedRequest {
  readonly request: GangRequest;
  readonly refusal: PlacementRefusal;
  readonly jobUid?: string;
  /** That of the capacity that was searched, which may be old: GPUs that became free since may hold the gang. Absent: it was read just now. */
  readonly rises?: number;
}
