import { deviceCount, type NodeDemand } from '@coxswain/fabric';
import { type Json, list, texts } from './json.ts';
import { devicesAskedBy, partsOf } from './parts.ts';

const known = new WeakMap<Json, NodeDemand>();

/** What pods of that template ask of a node beside GPUs. The same object for the same template. */
export function nodeDemandOf(template: Json): NodeDemand {
  const before = known.get(template);
  if (before !== undefined) return before;
  const { spec, trainer, beside } = partsOf(template);
  const devices = new Map<string, number>();
  for (const container of [trainer, ...beside]) {
    for (const [name, quantity] of Object.entries(devicesAskedBy(container))) {
      const count = isDevice(name) ? deviceCount(quantity) : 0;
      if (count > 0) devices.set(name, (devices.get(name) ?? 0) + count);
    }
  }
  const demand = {
    nodeSelector: texts(spec['nodeSelector']),
    tolerations: list(spec['tolerations']).map(texts),
    devices: Object.fromEntries([...devices].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
  known.set(template, demand);
  return demand;
}

/** Extended resources have a domain; processors, memory and disk have none. */
function isDevice(name: string): boolean {
  return name.includes('/');
}
