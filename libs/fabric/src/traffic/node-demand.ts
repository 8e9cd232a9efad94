import type { NodeFacts, Taint } from '../nodes/fabric.ts';

/** A Kubernetes toleration; one with an invalid shape tolerates nothing. */
export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

/** What a gang's pods ask of each of their nodes beside GPUs. */
export interface NodeDemand {
  /** Labels that the node carries. */
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Beside those of every gang. */
  readonly tolerations: readonly Toleration[];
  /** Devices of each pod by resource name, such as 32 of vpc.amazonaws.com/efa. */
  readonly devices: Readonly<Record<string, number>>;
}

/**
 * The nodes that could hold such pods, as these see them: schedulable where every taint is tolerated. `leftOut` says in a sentence why GPU nodes are
 * not among them; undefined where all are. Devices that other pods hold are not known here: of them only what a node has is asked.
 */
export function nodesFor(
  demand: NodeDemand,
  nodes: readonly NodeFacts[],
): { readonly nodes: readonly NodeFacts[]; readonly leftOut: string | undefined } {
  const reasons = new Map<string, number>();
  const suitable = nodes.flatMap((node) => {
    const reason = whyUnsuitable(node, demand);
    if (reason === undefined) {
      const schedulable = isSchedulable(node, demand);
      return [schedulable === node.schedulable ? node : { ...node, schedulable }];
    }
    if (node.gpuCapacity > 0) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    return [];
  });
  return { nodes: suitable, leftOut: leftOutSentence(reasons) };
}

/** Whether the node takes such pods: nobody has cordoned it, and each of its taints is tolerated. */
export function isSchedulable(
  { schedulable, isCordoned, taints = [] }: NodeFacts,
  { tolerations }: Pick<NodeDemand, 'tolerations'>,
): boolean {
  if (schedulable) return true;
  return isCordoned !== true && taints.length > 0 && taints.every((taint) => tolerates(tolerations, taint));
}

/** In words that are the same for every node that lacks the same. */
function whyUnsuitable({ labels, devices = {} }: NodeFacts, demand: NodeDemand): string | undefined {
  for (const [key, value] of Object.entries(demand.nodeSelector)) {
    if (labels[key] !== value) return `no label ${key}=${value}`;
  }
  for (const [name, count] of Object.entries(demand.devices)) {
    const has = devices[name] ?? 0;
    if (has < count) return `${has === 0 ? 'no' : `${has} of ${count}`} ${name}`;
  }
  return undefined;
}

const MOST_REASONS = 3;

/** `3 GPU nodes do not suit the job's runtime: 2 have no label a=b, 1 has 7 of 8 rdma/ib.` */
function leftOutSentence(reasons: ReadonlyMap<string, number>): string | undefined {
  if (reasons.size === 0) return undefined;
  const sorted = [...reasons].sort(([one, many], [other, more]) => more - many || (one < other ? -1 : 1));
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  const shown = sorted
    .slice(0, MOST_REASONS)
    .map(([reason, count]) => `${count} ha${count === 1 ? 's' : 've'} ${reason}`);
  const rest = sorted.slice(MOST_REASONS).reduce((sum, [, count]) => sum + count, 0);
  const others = rest === 0 ? [] : [`${rest} for other reasons`];
  const verb = total === 1 ? 'GPU node does' : 'GPU nodes do';
  return `${total} ${verb} not suit the job's runtime: ${[...shown, ...others].join(', ')}.`;
}

/** Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity and api/core/v1/toleration.go, ToleratesTaint. */
function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some(({ key = '', operator = 'Equal', value = '', effect = '' }) => {
    if (effect !== '' && effect !== taint.effect) return false;
    if (key !== '' && key !== taint.key) return false;
    if (operator === 'Exists') return true;
    return operator === 'Equal' && key !== '' && value === taint.value;
  });
}
