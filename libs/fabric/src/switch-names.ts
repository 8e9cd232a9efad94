import type { NodeReading } from './node-reading.ts';
import type { Said } from './said.ts';

/**
 * The switches above each node, near to far, in the order of the readings. A switch is named by the whole way down to it, as in
 * `region=eu/zone=a/topograph:tier-1=s1/tier-0=l1`: so a leaf below two spines is two leaves, two producers never name the same switch, and a
 * circle cannot be spelled.
 *
 * Tiers stand at the same place for every node that says anything: a tier that nobody of a producer names is left out, one that this node
 * alone does not name is the node's (or its nearer switch's) own, because closeness is claimed only where it is said.
 */
export function namesOfSwitches(readings: readonly NodeReading[]): readonly (readonly string[])[] {
  const tiersOf = tiersByProducer(readings);
  const depth = Math.max(0, ...[...tiersOf.values()].map((tiers) => tiers.length));
  const placesTold = [0, 1].filter((index) => readings.some(({ places }) => places[index] !== undefined));
  return readings.map((reading) => {
    const { switches, places, node } = reading;
    const told = placesTold.map((index) => places[index]);
    if (switches === undefined && told.every((place) => place === undefined)) return [];
    const named = (tiersOf.get(switches?.dialect.producer ?? '') ?? []).map((tier) => switches?.tiers[tier]);
    // Shorter trees are filled up below the places, so that a zone is as far for everybody.
    const fill = new Array<undefined>(depth - named.length).fill(undefined);
    const farther = trimmed(told);
    const tiers = farther.length === 0 ? trimmed(named) : [...named, ...fill, ...farther];
    return wayDown(tiers, node.name, switches?.dialect.producer ?? 'kubernetes');
  });
}

/** Which tiers of each producer some node names. */
function tiersByProducer(readings: readonly NodeReading[]): ReadonlyMap<string, readonly number[]> {
  const named = new Map<string, Set<number>>();
  for (const { switches } of readings) {
    if (switches === undefined) continue;
    const tiers = named.get(switches.dialect.producer) ?? new Set();
    for (const [tier, said] of switches.tiers.entries()) if (said !== undefined) tiers.add(tier);
    named.set(switches.dialect.producer, tiers);
  }
  return new Map([...named].map(([producer, tiers]) => [producer, [...tiers].sort((one, other) => one - other)]));
}

/** Without what is not known at the far end. */
function trimmed(tiers: readonly (Said | undefined)[]): readonly (Said | undefined)[] {
  return tiers.slice(0, tiers.findLastIndex((tier) => tier !== undefined) + 1);
}

function wayDown(tiers: readonly (Said | undefined)[], node: string, producer: string): readonly string[] {
  const names: string[] = [];
  let above = '';
  for (let index = tiers.length - 1; index >= 0; index--) {
    const said = tiers[index];
    const own = said === undefined ? unknownAbove(tiers.slice(0, index), node, producer) : spelled(said, producer);
    above = above === '' ? own : `${above}/${own}`;
    names.unshift(above);
  }
  return names;
}

/** A tier that is not told, named by what is below it. A label's value holds neither `?` nor `:`, so nobody can name such a switch. */
function unknownAbove(nearer: readonly (Said | undefined)[], node: string, producer: string): string {
  const next = nearer.findLast((tier) => tier !== undefined);
  return next === undefined ? `?node:${node}` : `?${spelled(next, producer)}`;
}

function spelled({ key, value }: Said, producer: string): string {
  const prefix = key.startsWith('topology.kubernetes.io/') ? '' : `${producer}:`;
  return `${prefix}${shortKey(key)}=${value}`;
}

function shortKey(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
