import { deviceCount, isDevice, type NodeDemand } from '@coxswain/fabric';
import { type Json, list, texts } from './json.ts';
import { requestedDevices, templateParts } from './template-parts.ts';

const known = new WeakMap<Json, NodeDemand>();

/** What pods of the template need of a node besides GPUs. The same template gives the same object. */
export function nodeDemandOf(template: Json): NodeDemand {
  const before = known.get(template);
  if (before !== undefined) return before;
  const { spec, trainer, beside, initContainers } = templateParts(template);
  const isSidecar = (container: Json): boolean => container['restartPolicy'] === 'Always';
  const devices = devicesOf([trainer, ...beside, ...initContainers.filter(isSidecar)]);
  // Init containers end before the others start, so they need no more than the largest of them.
  for (const container of initContainers) {
    if (isSidecar(container)) continue;
    for (const [name, count] of devicesOf([container])) devices.set(name, Math.max(devices.get(name) ?? 0, count));
  }
  const demand = {
    nodeSelector: texts(spec['nodeSelector']),
    // A toleration with a duration lets a pod stay that long, which is no place to start.
    tolerations: list(spec['tolerations'])
      .filter(({ tolerationSeconds }) => tolerationSeconds === undefined || tolerationSeconds === null)
      .map(texts),
    devices: Object.fromEntries([...devices].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
  known.set(template, demand);
  return demand;
}

function devicesOf(containers: readonly Json[]): Map<string, number> {
  const devices = new Map<string, number>();
  for (const container of containers) {
    for (const [name, quantity] of Object.entries(requestedDevices(container))) {
      const count = isDevice(name) ? deviceCount(quantity) : 0;
      if (count > 0) devices.set(name, (devices.get(name) ?? 0) + count);
    }
  }
  return devices;
}
