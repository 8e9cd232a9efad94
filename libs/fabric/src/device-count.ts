/**
 * Whether a resource is a device, such as a NIC or a GPU: it has a domain, and that is not Kubernetes' own. Processors, memory and the like are none.
 * Source: k8s.io/kubernetes/pkg/apis/core/v1/helper, IsExtendedResourceName.
 */
export function isDevice(resource: string): boolean {
  const [domain = '', name] = resource.split('/');
  return name !== undefined && !domain.endsWith('kubernetes.io');
}

/** A whole number of devices from a resource quantity such as `8` or `8k`; 0 when it is absent or no number. */
export function deviceCount(quantity: unknown): number {
  if (typeof quantity === 'number') return Number.isSafeInteger(quantity) && quantity > 0 ? quantity : 0;
  if (typeof quantity !== 'string') return 0;
  const [, digits, unit = ''] = /^([0-9]{1,9})(k|M)?$/.exec(quantity) ?? [];
  return digits === undefined ? 0 : Number(digits) * { '': 1, k: 1e3, M: 1e6 }[unit as '' | 'k' | 'M'];
}
