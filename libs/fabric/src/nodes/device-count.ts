import { quantityOf } from '@coxswain/units';

/**
 * Whether a resource is a device, such as a NIC or a GPU: it has a domain, and that is not Kubernetes' own. Processors, memory and the like are none.
 * Source: k8s.io/kubernetes/pkg/apis/core/v1/helper, IsExtendedResourceName.
 */
export function isDevice(resource: string): boolean {
  const [domain = '', name] = resource.split('/');
  return name !== undefined && !domain.endsWith('kubernetes.io');
}

/**
 * Devices of a resource quantity such as `8`, `8k` or `8000m`; undefined where it is no whole number of them. The API server takes whole numbers alone for devices, and
 * answers `8000m` and `8.0` as `8` (k8s.io/apimachinery, resource.Quantity; ValidateResourceQuantityValue); a file may say anything.
 */
export function wholeDevices(quantity: unknown): number | undefined {
  const count = typeof quantity === 'string' ? quantityOf(quantity) : quantity;
  return Number.isSafeInteger(count) && (count as number) >= 0 ? (count as number) : undefined;
}

/** The same; 0 when it is absent or no such number. */
export function deviceCount(quantity: unknown): number {
  return wholeDevices(quantity) ?? 0;
}
