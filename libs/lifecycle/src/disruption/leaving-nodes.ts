/** Which nodes of a gang are about to go away, and can the gang move? */
import type { Attempt } from '@coxswain/api-types';
import { type Facts, isTerminal, nodeStateOf, placementOf } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { describeNotice } from '../notices/node-notices.ts';

/** Nodes under pods of the attempt that will soon go away, sorted. */
export function leavingNodes(facts: Facts, attempt: Attempt): readonly string[] {
  const placed = placementOf(facts, attempt.epoch)?.spec.nodes ?? [];
  const pods = podsOf(facts, attempt.epoch).filter((pod) => !isTerminal(pod));
  const nodes = pods.flatMap(({ nodeName, podIndex }) => nodeName ?? placed[podIndex] ?? []);
  return [...new Set(nodes)].filter((node) => nodeStateOf(facts, node) === 'leaving').toSorted();
}

/** Whether the gang can save and move. Without checkpoints it would lose all its work by moving, and lose no more by staying. */
export function canMove({ spec }: Facts): boolean {
  return spec?.checkpoint !== undefined;
}

const SHOWN_NODES = 8;

/** A sentence such as `Node gpu-7 is about to go away: aws-spot (taint ...).` */
export function whyLeaving(facts: Facts, nodes: readonly string[]): string {
  const shown = nodes.slice(0, SHOWN_NODES).map((node) => {
    const notice = facts.observed.noticeOf?.(node);
    return notice === undefined ? node : `${node}, ${describeNotice(notice)}`;
  });
  const more = nodes.length > SHOWN_NODES ? ` and ${nodes.length - SHOWN_NODES} more` : '';
  return nodes.length === 1
    ? `A node is about to go away: ${shown.join('')}.`
    : `${nodes.length} nodes are about to go away: ${shown.join('; ')}${more}.`;
}
