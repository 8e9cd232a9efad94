import type { KubeObject, ObjectMeta } from './kube-object.ts';

/** A Lease of coordination.k8s.io/v1, as far as an election needs it. */
export interface Lease extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec?: LeaseSpec;
}

/** Holder and times of a Lease. */
export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}
