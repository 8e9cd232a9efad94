/** Do the quotas of a namespace let all pods of a gang exist at once? A dry run of one pod asks for that pod alone. */
import { type KubeClient, type KubeObject, resourcePath } from '@coxswain/kube';
import { type PodDemand, quotaObstacles, type QuotaObject, quotaSentence } from '@coxswain/scheduling';

/** Thrown where a quota has no room for all pods of a gang, before any of them is created. */
export class NoRoomInQuotaError extends Error {
  override readonly name = 'NoRoomInQuotaError';
}

/** More quotas than a namespace has. */
const MOST_QUOTAS = 100;

/**
 * Reads the quotas from the API server, which counts each pod there when it creates it. Quotas that cannot be read, for example for lack of a
 * right, refuse nothing here: the creation of the pods shows what they allow.
 *
 * @throws NoRoomInQuotaError with the first quota that has no room.
 */
export async function checkQuotas(
  client: Pick<KubeClient, 'list'>,
  namespace: string | undefined,
  demand: PodDemand,
): Promise<void> {
  const [obstacle] = quotaObstacles(await readQuotas(client, namespace), demand);
  if (obstacle !== undefined) throw new NoRoomInQuotaError(quotaSentence(obstacle));
}

async function readQuotas(
  client: Pick<KubeClient, 'list'>,
  namespace: string | undefined,
): Promise<readonly QuotaObject[]> {
  const place = namespace === undefined ? {} : { namespace };
  const path = resourcePath({ group: '', version: 'v1', plural: 'resourcequotas', ...place });
  try {
    return (await client.list<QuotaObject & KubeObject>(path, { limit: MOST_QUOTAS })).items;
  } catch {
    return [];
  }
}
