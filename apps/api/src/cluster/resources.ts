import { API_GROUP, API_VERSION } from '@coxswain/api-types';
import { resourcePath, serverSentence } from '@coxswain/kube';

/** Collection of all objects of a kind of ours. */
export function collectionOf(
  plural: 'trainingjobs' | 'checkpoints' | 'placements' | 'fabrics',
  namespace?: string,
): string {
  return resourcePath({
    group: API_GROUP,
    version: API_VERSION,
    plural,
    ...(namespace === undefined ? {} : { namespace }),
  });
}

/** One TrainingJob. */
export function trainingJobPath(job: { readonly namespace: string; readonly name: string }): string {
  return resourcePath({
    group: API_GROUP,
    version: API_VERSION,
    plural: 'trainingjobs',
    namespace: job.namespace,
    name: job.name,
  });
}

/** One Checkpoint. */
export function checkpointPath({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return resourcePath({ group: API_GROUP, version: API_VERSION, plural: 'checkpoints', namespace, name });
}

/** What the API server's Status says, without the request line that our client puts before it. */
export function sentenceOf(error: unknown): string {
  return serverSentence(error).slice(0, 2_000);
}
