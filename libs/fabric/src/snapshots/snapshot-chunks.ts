/** How is a fabric divided so that most of it need not be written again when a few nodes change? */
import type { RecordedNode } from './node-columns.ts';

/** Nodes of a chunk, on average; a node that changes costs a chunk. */
const USUAL_NODES = 128;
const MOST_NODES = 512;

/**
 * Nodes sorted by name, divided behind those whose name says so: where nodes come and go, the chunks around them stay what they were, which places of fixed
 * length would not.
 */
export function snapshotChunks(nodes: readonly RecordedNode[]): readonly (readonly RecordedNode[])[] {
  const chunks: RecordedNode[][] = [];
  let open: RecordedNode[] = [];
  for (const node of nodes) {
    open.push(node);
    if (open.length < MOST_NODES && hash(node.name) % USUAL_NODES !== 0) continue;
    chunks.push(open);
    open = [];
  }
  return open.length === 0 ? chunks : [...chunks, open];
}

/** FNV-1a, 32 bits, mixed once more: the low bits of names that count upwards would repeat. */
function hash(name: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < name.length; index++) value = Math.imul(value ^ name.charCodeAt(index), 0x01000193) >>> 0;
  const mixed = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 12)) >>> 0;
}
