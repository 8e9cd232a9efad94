/** What changed between two observations of a fabric? Changes are grouped: a rack that changed its switch is one change of many nodes. */
import type { FabricChange, FabricFactChange } from '@coxswain/api-types';
import type { RecordedNode } from './node-columns.ts';

/** How many nodes came, went and changed. */
export interface ChangeCounts {
  readonly came: number;
  readonly gone: number;
  readonly changed: number;
}

/** Changes between two observations, grouped, with the counts of all nodes. */
export interface FabricChanges extends ChangeCounts {
  /** Changes of most nodes first. */
  readonly changes: readonly FabricChange[];
  /** There are more kinds of changes than are changes. */
  readonly hasMore: boolean;
}

/** Of one change; the rest is a number. */
const MOST_NAMES = 64;
/** The most kinds of changes in an answer: if each node gets its own label, there are as many kinds as nodes. */
const MOST_CHANGES = 200;

/** Both sorted by name. */
export function fabricChanges(before: readonly RecordedNode[], after: readonly RecordedNode[]): FabricChanges {
  const then = new Map(before.map((node) => [node.name, node]));
  const now = new Set(after.map(({ name }) => name));
  const changes = new ChangeCollector();
  for (const node of before) if (!now.has(node.name)) changes.add('gone', node.name, differences(node, undefined));
  for (const node of after) {
    const earlier = then.get(node.name);
    if (earlier === undefined) changes.add('came', node.name, differences(undefined, node));
    else {
      const facts = differences(earlier, node);
      if (facts.length > 0) changes.add('changed', node.name, facts);
    }
  }
  return changes.all();
}

class ChangeCollector {
  readonly #counts = { came: 0, gone: 0, changed: 0 };
  readonly #byWhat = new Map<string, FabricChange & { nodeCount: number }>();

  add(kind: FabricChange['kind'], node: string, facts: FabricFactChange[]): void {
    this.#counts[kind] += 1;
    const key = JSON.stringify([kind, facts]);
    const known = this.#byWhat.get(key);
    if (known === undefined) this.#byWhat.set(key, { kind, nodeCount: 1, nodes: [node], facts });
    else {
      known.nodeCount += 1;
      if (known.nodes.length < MOST_NAMES) known.nodes.push(node);
    }
  }

  all(): FabricChanges {
    const sorted = [...this.#byWhat.values()].sort((one, other) => other.nodeCount - one.nodeCount);
    return { ...this.#counts, changes: sorted.slice(0, MOST_CHANGES), hasMore: sorted.length > MOST_CHANGES };
  }
}

/** Facts that differ; of a node that came or went all that are known. */
function differences(before: RecordedNode | undefined, after: RecordedNode | undefined): FabricFactChange[] {
  const [then, now] = [factsOf(before), factsOf(after)];
  return [...new Set([...then.keys(), ...now.keys()])].flatMap((fact) => {
    const change = { fact, before: then.get(fact) ?? null, after: now.get(fact) ?? null };
    return change.before === change.after ? [] : [change];
  });
}

function factsOf(node: RecordedNode | undefined): ReadonlyMap<string, string> {
  if (node === undefined) return new Map();
  const { gpus, place, hardware } = node;
  const { readFrom, ...devices } = hardware;
  const facts = {
    gpus,
    island: place.island,
    nvlinkDomain: place.nvlinkDomain,
    // The nearest is named by the whole way down to it.
    switches: place.switches[0] === undefined ? null : withoutOwnNames(place.switches[0]),
    ...devices,
    ...Object.fromEntries(readFrom.map(({ fact, key }) => [`${fact}ReadFrom`, key])),
  };
  return new Map(
    Object.entries(facts).flatMap(([fact, value]) => (value === null ? [] : [[fact, String(value)] as const])),
  );
}

/** A switch that nobody names is called by what is below it, which is another for each node: `?` for all. */
function withoutOwnNames(way: string): string {
  return way
    .split('/')
    .map((part) => (part.startsWith('?') ? '?' : part))
    .join('/');
}
