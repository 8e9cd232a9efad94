/** What is the NVLink domain of a node called that is in none with others? */
import type { FabricNode } from './fabric.ts';

/** A label's value cannot contain a colon, so no label can claim another node's own domain. */
export function ownDomainOf(nodeName: string): string {
  return `node:${nodeName}`;
}

/** Whether the NVLink domain of a node is the node itself, because no label names one. */
export function isInOwnDomain({ name, nvlinkDomain }: Pick<FabricNode, 'name' | 'nvlinkDomain'>): boolean {
  return nvlinkDomain === ownDomainOf(name);
}
