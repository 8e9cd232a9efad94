import { parseQuantity } from './quantity.ts';
import type { Container, FieldRef, Pod, ResourceFieldRef } from '../kube/kube-types.ts';

/** What the downward API may tell of a pod beside the pod itself. */
export interface PodPlace {
  readonly nodeName: string;
  /** Of the node, and of every pod on it. */
  readonly address: string;
  readonly capacity: Readonly<Record<string, string>>;
}

/** The value of a `fieldRef`; undefined for a path that the kubelet does not know either. */
export function fieldValue(ref: FieldRef, pod: Pod, place: PodPlace): string | undefined {
  const { metadata, spec } = pod;
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(ref.fieldPath);
  if (keyed !== null) {
    return metadata[keyed[1] as 'labels' | 'annotations']?.[keyed[2] ?? ''] ?? '';
  }
  const fields: Record<string, string> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'metadata.labels': formatMap(metadata.labels ?? {}),
    'metadata.annotations': formatMap(metadata.annotations ?? {}),
    'spec.nodeName': place.nodeName,
    'spec.serviceAccountName': spec.serviceAccountName ?? 'default',
    'status.podIP': place.address,
    'status.podIPs': place.address,
    'status.hostIP': place.address,
    'status.hostIPs': place.address,
  };
  return fields[ref.fieldPath];
}

/** One `key="value"` per line, sorted, values escaped: the form of the downward API's label and annotation files. */
function formatMap(map: Readonly<Record<string, string>>): string {
  return Object.entries(map)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');
}

/**
 * The value of a `resourceFieldRef` in units of its divisor, rounded up. A limit that is not set is what the node has.
 */
export function resourceValue(ref: ResourceFieldRef, container: Container, place: PodPlace): string {
  const [kind, ...rest] = ref.resource.split('.');
  const name = rest.join('.');
  const own = kind === 'requests' ? container.resources?.requests?.[name] : container.resources?.limits?.[name];
  const amount = parseQuantity(own ?? (kind === 'limits' ? place.capacity[name] : undefined) ?? '0');
  const divisor = parseQuantity(ref.divisor ?? '1');
  return String(Math.ceil(amount / (divisor === 0 ? 1 : divisor)));
}
