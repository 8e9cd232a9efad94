import { typeByDra } from './nics.ts';
import type { NodeReading } from './node-reading.ts';
import { type FabricProblem, listed } from './problem.ts';

/** Whether NFD found that the node can do RDMA at all; the second key is that of a common custom rule. */
const RDMA_HINTS = ['feature.node.kubernetes.io/rdma.capable', 'feature.node.kubernetes.io/custom-rdma.capable'];
const NEEDS_RDMA: ReadonlySet<string> = new Set(['infiniband', 'roce']);

/** One for each way in which the class that is believed is contradicted. */
export function nicProblems(readings: readonly NodeReading[]): readonly FabricProblem[] {
  const byContradiction = new Map<string, NodeReading[]>();
  for (const reading of readings) {
    const contradiction = contradictionOf(reading);
    if (contradiction === undefined) continue;
    const affected = byContradiction.get(contradiction);
    if (affected === undefined) byContradiction.set(contradiction, [reading]);
    else affected.push(reading);
  }
  return [...byContradiction].slice(0, 8).map(([contradiction, affected]) => ({
    kind: 'NicsDisagree',
    nodes: affected.slice(0, 5).map(({ node }) => node.name),
    message: `${contradiction}, on ${listed(affected)}. The former is believed. Correct it, or look after the NICs of these nodes (a reinstalled driver can hide them).`,
  }));
}

function contradictionOf({ node, nicType, labelOf }: NodeReading): string | undefined {
  if (nicType === undefined) return undefined;
  const byDra = typeByDra(node);
  const believed = `${nicType.key} says NICs of class ${nicType.value}`;
  if (byDra !== undefined && byDra.value !== nicType.value) {
    return `${believed}, the DRA attribute ${byDra.key} ${byDra.value}`;
  }
  const hint = RDMA_HINTS.find((key) => labelOf(key)?.value === 'false');
  return hint === undefined || !NEEDS_RDMA.has(nicType.value)
    ? undefined
    : `${believed}, which needs RDMA, ${hint} that there is none`;
}
