import { ANNOTATIONS, API_GROUP_VERSION, LABELS, type PlacementSpec, type TrainingJob } from '@coxswain/api-types';
import type { KubeObject } from '@coxswain/kube';
import { childLabels } from '../cluster/cluster-cache.ts';
import { ownedBy } from './owner.ts';

/** The current places of nodes in the form that a Placement stores; undefined if there are none. */
export type PlacesOf = (nodes: readonly string[]) => string | undefined;

/** The Placement of a job's epoch, with the places of its nodes at creation. */
export function toPlacement(
  job: TrainingJob,
  { name, spec, ofClaim }: { readonly name: string; readonly spec: PlacementSpec; readonly ofClaim?: true },
  places: string | undefined,
): KubeObject & { readonly spec: PlacementSpec } {
  const { namespace } = job.metadata;
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Placement',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...childLabels(job, spec.epoch), ...(ofClaim === true ? { [LABELS.claim]: 'true' } : {}) },
      ...(places === undefined ? {} : { annotations: { [ANNOTATIONS.places]: places } }),
      ownerReferences: [ownedBy(job)],
    },
    spec,
  };
}
