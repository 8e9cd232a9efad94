/** How many units does each switch of a level take, if whole lines are to be cut on as few of them as can be? */
import type { SwitchNode } from './switch-tree.ts';

/** The level of the switches that take whole lines, and the length of a line. */
export interface WholeLines {
  readonly level: number;
  /** Of a line. */
  readonly units: number;
}

interface Taking {
  readonly node: SwitchNode;
  units: number;
}

/**
 * By kind of switch: numbers of units that are no whole lines and that must be allowed to some, for all to be placed. Whole lines first, roomiest switches
 * first; what is left goes where least room is left of it, as long as that is enough, else where most is. Empty where whole lines alone will do, undefined
 * where there is no room.
 */
export function besideWholeLines(
  root: SwitchNode,
  units: number,
  { level, units: line }: WholeLines,
): ReadonlyMap<number, ReadonlySet<number>> | undefined {
  const switches = switchesAt(root, level).map((node): Taking => ({ node, units: 0 }));
  const roomLeft = (one: Taking): number => one.node.room - one.units;
  let left = units;
  for (const one of switches.toSorted((a, b) => b.node.room - a.node.room)) {
    one.units = Math.min(left - (left % line), one.node.room - (one.node.room % line));
    left -= one.units;
  }
  while (left > 0) {
    const open = switches.filter((one) => roomLeft(one) > 0).sort((a, b) => roomLeft(a) - roomLeft(b));
    const next = open.find((one) => roomLeft(one) >= left) ?? open.at(-1);
    if (next === undefined) return undefined;
    const taken = Math.min(left, roomLeft(next));
    next.units += taken;
    left -= taken;
  }
  const odd = switches.filter((one) => one.units % line > 0);
  return new Map(
    [...Map.groupBy(odd, ({ node }) => node.kind)].map(([kind, alike]) => [
      kind,
      new Set(alike.map((one) => one.units)),
    ]),
  );
}

function switchesAt(node: SwitchNode, level: number): readonly SwitchNode[] {
  if (node.level <= level) return node.level === level && node.room > 0 ? [node] : [];
  return node.children.flatMap((child) => switchesAt(child, level));
}
