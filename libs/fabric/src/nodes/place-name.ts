/** Longest name that a table or a picture shows. */
const MOST_CHARACTERS = 24;

/** What stands where nobody names the place. */
const NOBODY_SAYS = '-';

/**
 * The switch of that tier above a node, 0 the nearest, by its whole name, which no other switch has. Undefined where no label names one: then only
 * the node, or a switch that is nearer, is known to be there.
 */
export function namedSwitch(switches: readonly string[], tier: number): string | undefined {
  const name = switches[tier];
  return name === undefined || lastPart(name).startsWith('?') ? undefined : name;
}

/** The farthest switch that a producer's label names, by its whole name; undefined where none does. Zones and regions are no switches. */
export function outermostSwitch(switches: readonly string[]): string | undefined {
  return switches.findLast((name) => /^[^?:]+:/.test(lastPart(name)));
}

/**
 * The name of a switch, domain or island as a person calls it: without the switches above it and the label that it was read from, as `leaf-1` of
 * `zone=a/topograph:tier-0=leaf-1`. Two places may be called alike. `-` for a switch that no label names.
 */
export function ownNameOf(name: string): string {
  const last = lastPart(name);
  return last.startsWith('?') ? NOBODY_SAYS : last.slice(last.lastIndexOf('=') + 1) || name;
}

/** The same, short enough for a table or a picture. */
export function placeName(name: string): string {
  const own = ownNameOf(name);
  return own.length <= MOST_CHARACTERS ? own : `${own.slice(0, 8)}…${own.slice(-(MOST_CHARACTERS - 9))}`;
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
