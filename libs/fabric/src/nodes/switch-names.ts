import type { NodeReading } from './node-reading.ts';
import type { ReportedValue } from './reported-labels.ts';

/**
 * The switches above each node, near to far, in the order of the readings. A switch is named by the whole way down to it, as in
 * `region=eu/zone=a/topograph:tier-1=s1/tier-0=l1`. So a leaf below two spines counts as two leaves, two producers never name the same switch, and no name
 * can contain a circle.
 *
 * Tiers have the same index for every node that reports any. A tier that a node does not report is taken to be the node's own (or its nearer
 * switch's), because nodes count as close only if a label says so. The same holds for each tier from the leaf to the nearest that any node reports:
 * nodes that report only a spine or a zone are below leaves of their own. Tiers that no node of a producer reports are left out.
 */
export function namesOfSwitches(readings: readonly NodeReading[]): readonly (readonly string[])[] {
  const tiersOf = tiersByProducer(readings);
  // A zone is beyond some leaf, even where no producer speaks of switches.
  const depth = Math.max(1, ...[...tiersOf.values()].map((tiers) => tiers.length));
  const reportedPlaces = [0, 1].filter((index) => readings.some(({ places }) => places[index] !== undefined));
  return readings.map((reading) => {
    const { switches, places, node } = reading;
    const reported = reportedPlaces.map((index) => places[index]);
    if (switches === undefined && reported.every((place) => place === undefined)) return [];
    const named = (tiersOf.get(switches?.dialect.producer ?? '') ?? []).map((tier) => switches?.tiers[tier]);
    // Shorter trees are filled up below the places, so that a zone is as far for everybody.
    const fill = new Array<undefined>(depth - named.length).fill(undefined);
    const farther = trimmed(reported);
    const tiers = farther.length === 0 ? trimmed(named) : [...named, ...fill, ...farther];
    return wayDown(tiers, node.name, switches?.dialect.producer ?? 'kubernetes');
  });
}

/** Which tiers of each producer some node names, and those nearer than all of them down to the leaf. */
function tiersByProducer(readings: readonly NodeReading[]): ReadonlyMap<string, readonly number[]> {
  const named = new Map<string, { readonly leaf: number; readonly tiers: Set<number> }>();
  for (const { switches } of readings) {
    if (switches === undefined) continue;
    const { producer, leaf = 0 } = switches.dialect;
    const known = named.get(producer) ?? { leaf, tiers: new Set() };
    for (const [tier, value] of switches.tiers.entries()) if (value !== undefined) known.tiers.add(tier);
    named.set(producer, known);
  }
  return new Map([...named].map(([producer, { leaf, tiers }]) => [producer, withNearer(leaf, tiers)]));
}

function withNearer(leaf: number, named: ReadonlySet<number>): readonly number[] {
  const nearest = Math.min(...named);
  const nearer = Array.from({ length: Math.max(0, nearest - leaf) }, (_, at) => leaf + at);
  return [...nearer, ...named].sort((one, other) => one - other);
}

/** Without what is not known at the far end. */
function trimmed(tiers: readonly (ReportedValue | undefined)[]): readonly (ReportedValue | undefined)[] {
  return tiers.slice(0, tiers.findLastIndex((tier) => tier !== undefined) + 1);
}

function wayDown(tiers: readonly (ReportedValue | undefined)[], node: string, producer: string): readonly string[] {
  const names: string[] = [];
  let above = '';
  for (let index = tiers.length - 1; index >= 0; index--) {
    const value = tiers[index];
    const own = value === undefined ? unknownAbove(tiers.slice(0, index), node, producer) : spelled(value, producer);
    above = above === '' ? own : `${above}/${own}`;
    names.unshift(above);
  }
  return names;
}

/** A tier without a label, named by what is below it. A label's value holds neither `?` nor `:`, so no label can name such a switch. */
function unknownAbove(nearer: readonly (ReportedValue | undefined)[], node: string, producer: string): string {
  const next = nearer.findLast((tier) => tier !== undefined);
  return next === undefined ? `?node:${node}` : `?${spelled(next, producer)}`;
}

function spelled({ key, value }: ReportedValue, producer: string): string {
  const prefix = key.startsWith('topology.kubernetes.io/') ? '' : `${producer}:`;
  return `${prefix}${shortKey(key)}=${value}`;
}

function shortKey(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
