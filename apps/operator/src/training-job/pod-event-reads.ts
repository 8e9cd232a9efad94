/** What do kubelets report about a pod? Events are listed for one pod, because a cluster has very many. */
import { resourcePath, type KubeClient, type KubeObject } from '@coxswain/kube';
import type { PodReference } from '@coxswain/lifecycle';
import { safeText } from '@coxswain/safe-text';

interface PodEvent extends KubeObject {
  readonly type?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly lastTimestamp?: unknown;
  readonly eventTime?: unknown;
}

/** A pod that is tried again for an hour has a few Events, each counted. */
const MAX_EVENTS = 50;
const MAX_CHARACTERS = 512;
/** A kubelet repeats after minutes that it could not mount all volumes. The Event of the volume itself has the reason. */
const WITHOUT_REASON = /^Unable to attach or mount volumes/;

/** The newest warning, made safe and cut; undefined: there is none, or it cannot be read. */
export async function readPodWarning(
  client: Pick<KubeClient, 'list'>,
  namespace: string | undefined,
  pod: PodReference,
): Promise<string | undefined> {
  const path = resourcePath({
    group: '',
    version: 'v1',
    plural: 'events',
    ...(namespace === undefined ? {} : { namespace }),
  });
  try {
    const fieldSelector = `involvedObject.uid=${pod.uid},type=Warning`;
    const { items } = await client.list<PodEvent>(path, { fieldSelector, limit: MAX_EVENTS });
    const warnings = items.filter(({ type, message }) => type === 'Warning' && typeof message === 'string');
    const [newest] = warnings.toSorted(
      (one, other) => Number(isVague(one)) - Number(isVague(other)) || (timeOf(one) > timeOf(other) ? -1 : 1),
    );
    if (newest === undefined) return undefined;
    return safeText(`${String(newest.reason)}: ${String(newest.message)}`.replaceAll('\n', ' '), MAX_CHARACTERS);
  } catch {
    return undefined;
  }
}

function isVague({ message }: PodEvent): boolean {
  return WITHOUT_REASON.test(String(message));
}

function timeOf({ lastTimestamp, eventTime, metadata }: PodEvent): string {
  const time = lastTimestamp ?? eventTime ?? (metadata as { readonly creationTimestamp?: unknown }).creationTimestamp;
  return typeof time === 'string' ? time : '';
}
