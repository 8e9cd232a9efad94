import { ANNOTATIONS, API_GROUP_VERSION, type PlacementSpec, type TrainingJob } from '@coxswain/api-types';
import type { KubeObject } from '@coxswain/kube';
import { childLabels } from '../cluster/cluster-cache.ts';
import { ownedBy } from './owner.ts';

/** What is said of these nodes now, as a Placement keeps it; undefined: it keeps nothing. */
export type PlacesOf = (nodes: readonly string[]) => string | undefined;

/** The Placement of a job's epoch, with what was said of its nodes when it was made. */
export function toPlacement(
  job: TrainingJob,
  { name, spec }: { readonly name: string; readonly spec: PlacementSpec },
  places: string | undefined,
): KubeObject & { readonly spec: PlacementSpec } {
  const { namespace } = job.metadata;
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Placement',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: childLabels(job, spec.epoch),
      ...(places === undefined ? {} : { annotations: { [ANNOTATIONS.places]: places } }),
      ownerReferences: [ownedBy(job)],
    },
    spec,
  };
}
