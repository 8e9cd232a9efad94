/** What is said of GPUs, or by an object of a name that another has, and counts for nothing? */
import { GPU_RESOURCE } from '@coxswain/api-types';
import { formatCount } from '@coxswain/units';
import type { NodeFacts } from './fabric.ts';
import { MAX_GPUS_PER_NODE, nameOfPod, useOfPod } from './kube-objects.ts';
import { type FabricProblem, listedNames, MOST_NAME_CHARACTERS } from './problem.ts';

/** The most distinct values that are reported, each once. */
const MOST_VALUES = 8;
const MOST_NODES = 5;

/** Nodes whose number of GPUs is none, or that are in the list more than once. */
export function uncountedNodes(nodes: readonly NodeFacts[]): readonly FabricProblem[] {
  return [...gpusNotCounted(nodes), ...namedTwice(nodes)];
}

function gpusNotCounted(nodes: readonly NodeFacts[]): readonly FabricProblem[] {
  const counted = new Map(nodes.map((node) => [node.name, node]));
  const unread = Map.groupBy(
    [...counted.values()].filter(({ unreadGpus }) => unreadGpus !== undefined),
    ({ unreadGpus }) => unreadGpus,
  );
  const shown = [...unread].slice(0, MOST_VALUES);
  const rest = unread.size - shown.length;
  return shown.map(([value, members], at) => {
    const names = members.map(({ name }) => name);
    const more =
      rest > 0 && at === shown.length - 1 ? ` ${formatCount(rest, 'other such value')} of nodes beside.` : '';
    return {
      kind: 'GpusNotCounted',
      nodes: someOf(names),
      message:
        `status.allocatable["${GPU_RESOURCE}"] of ${listedNames(names)} is ${value}, which is no whole number from 0 to ${MAX_GPUS_PER_NODE.toLocaleString('en')}: ` +
        `as many GPUs as a node can have. Counted as no GPUs, so that no gang is placed there. Correct the number; on a cluster the device plugin writes it.${more}`,
    };
  });
}

/** Only in a file: the API server has one of each. */
function namedTwice(nodes: readonly NodeFacts[]): readonly FabricProblem[] {
  const byName = Map.groupBy(nodes, ({ name }) => name);
  const names = [...byName].filter(([, same]) => same.length > 1).map(([name]) => name);
  if (names.length === 0) return [];
  return [
    {
      kind: 'NamedTwice',
      nodes: someOf(names),
      message:
        `metadata.name of more than one node is ${listedNames(names)}: names of nodes are unique. Of each the last in the list counts, and the others do not. ` +
        `Leave the others out, or name them differently.`,
    },
  ];
}

/** Pods on a node that request an invalid number of GPUs. Only a file can have them; the API server rejects such pods. */
export function uncountedPods(pods: readonly unknown[]): readonly FabricProblem[] {
  const unread = pods.flatMap((pod) => {
    const { nodeName, isOver, unreadGpus } = useOfPod(pod);
    return nodeName === undefined || isOver || unreadGpus === undefined
      ? []
      : [{ nodeName, value: unreadGpus, name: nameOfPod(pod) }];
  });
  const [first] = unread;
  if (first === undefined) return [];
  const others = unread.length === 1 ? '' : ` (and so of ${formatCount(unread.length - 1, 'other pod')})`;
  return [
    {
      kind: 'GpusNotCounted',
      nodes: someOf([...new Set(unread.map(({ nodeName }) => nodeName))]),
      message:
        `resources of a container of pod ${listedNames([first.name])}${others} ask for ${first.value} of ${GPU_RESOURCE}, which is no whole number. ` +
        `Counted as none, so that what it takes of ${listedNames([first.nodeName])} seems free. Correct the number.`,
    },
  ];
}

function someOf(names: readonly string[]): readonly string[] {
  return names.slice(0, MOST_NODES).map((name) => name.slice(0, MOST_NAME_CHARACTERS));
}
