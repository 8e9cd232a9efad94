import { FABRIC_NAME, NODE_LABELS } from '@coxswain/api-types';
import type { Fabric, FabricNode, NodeFacts, Provenance, WhyUnusable } from './fabric.ts';
import { namesOfIslands } from './island-names.ts';
import { type NodeReading, readingsOf } from './node-reading.ts';
import type { ReportedValue } from './reported-labels.ts';
import { namesOfSwitches } from './switch-names.ts';
import { ownDomainOf } from './own-domain.ts';

/** The fabric that the nodes' labels describe. Nodes without GPUs are left out; of two nodes of one name the later one counts. */
export function fabricFromNodes(nodes: readonly NodeFacts[]): Fabric {
  const readings = readingsOf(nodes);
  const islands = namesOfIslands(readings);
  const switches = namesOfSwitches(readings);
  return {
    nodes: readings.map((reading, index) =>
      toFabricNode(reading, { island: islands[index] ?? '', switches: switches[index] ?? [] }),
    ),
  };
}

function toFabricNode(reading: NodeReading, place: Pick<FabricNode, 'island' | 'switches'>): FabricNode {
  const { node, nvlinkDomain, nvlinkSubDomain, nicType, nicSpeedGbps, nicCount, gpuType } = reading;
  const domain = nvlinkDomain === undefined ? ownDomainOf(node.name) : qualifiedValue(nvlinkDomain);
  const readFrom = provenance(reading);
  const whyUnusable = whyUnusableOf(node);
  return {
    name: node.name,
    gpus: node.gpuCapacity,
    nvlinkDomain: domain,
    ...(nvlinkSubDomain === undefined ? {} : { nvlinkSubDomain: `${domain}/${qualifiedValue(nvlinkSubDomain)}` }),
    ...place,
    ...(nicType === undefined ? {} : { nicType: nicType.value }),
    ...(nicSpeedGbps === undefined ? {} : { nicSpeedGbps: nicSpeedGbps.value }),
    ...(nicCount === undefined ? {} : { nicCount: nicCount.value }),
    ...(gpuType === undefined ? {} : { gpuType: gpuType.value }),
    usable: whyUnusable === undefined,
    ...(whyUnusable === undefined ? {} : { whyUnusable }),
    ...(Object.keys(readFrom).length === 0 ? {} : { readFrom }),
  };
}

/** The taint of a cordoned node. */
const TAINT_OF_CORDON = 'node.kubernetes.io/unschedulable';

function whyUnusableOf({ ready, schedulable, isCordoned, taints = [] }: NodeFacts): WhyUnusable | undefined {
  if (!ready) return 'notReady';
  if (schedulable) return undefined;
  if (isCordoned !== true) return 'tainted';
  return taints.every(({ key }) => key === TAINT_OF_CORDON) ? 'cordoned' : 'cordonedAndTainted';
}

/** Values of different producers are never equal: everything but our own label is spelled `<key>=<value>`. */
function qualifiedValue({ key, value }: ReportedValue): string {
  return key === NODE_LABELS.nvlinkDomain ? value : `${key}=${value}`;
}

function provenance(reading: NodeReading): Provenance {
  const { declaredIsland, root, switches, places } = reading;
  const tiers = [...(switches?.tiers ?? []), ...places].filter((tier) => tier !== undefined);
  const keyOfFact: Readonly<Record<keyof Provenance, string | undefined>> = {
    nvlinkDomain: reading.nvlinkDomain?.key,
    nvlinkSubDomain: reading.nvlinkSubDomain?.key,
    island: (declaredIsland ?? root)?.key,
    // The nearest; the dialect's other keys follow from it.
    switches: tiers[0]?.key,
    nicType: reading.nicType?.key,
    nicSpeedGbps: reading.nicSpeedGbps?.key,
    nicCount: reading.nicCount?.key,
    gpuType: reading.gpuType?.key,
  };
  const { overrides = {} } = reading.node;
  return Object.fromEntries(
    Object.entries(keyOfFact).flatMap(([fact, key]) =>
      key === undefined ? [] : [[fact, overrides[key] === undefined ? key : `Fabric ${FABRIC_NAME}: ${key}`]],
    ),
  );
}
