/**
 * On how many racks is a gang of 2,048 pods of 8 GPUs placed, and how long does its search take? At its start, after a lost node, after a lost rack, after labels
 * changed, and when others took nodes during its search. The code of the operator without a cluster; times are CPU time of one thread. `npm run gang:bench`
 * asks the same of a real control plane. Run: `node apps/operator/bench/rack-search.bench.ts`.
 */
import { aJobSpec } from '@coxswain/api-types/testing';
import { type FabricCapacity, fabricFromNodes } from '@coxswain/fabric';
import { foundNow, type FoundNodes, type NodeSearch, searchNodes } from '@coxswain/job-planning';
import { ParallelLayout } from '@coxswain/layout';
import { dealtAnew, fewestRacks, placesOf, type Places, type RackCluster, rackLabels, racksOf } from './racks.ts';

const PODS = 2_048;
const GPUS = 8;
const RACKS: RackCluster = { racks: 129, nodesPerRack: 17, racksPerSpine: 16, spares: 1 };
const MORE_RACKS: RackCluster = { ...RACKS, racks: 136, racksPerSpine: 17 };
/** Names of nodes say nothing of their racks. */
const STEP = 911;

const layout = ParallelLayout.parse({ tensorParallelDegree: GPUS, dataParallelDegree: PODS });
const search: NodeSearch = { spec: { ...aJobSpec(), layout }, request: { layout, gpusPerNode: GPUS }, avoided: [] };

const places = placesByName(RACKS);
const start = report('start', search, places);
const lostNode = start[Math.floor(RACKS.nodesPerRack / 2)] ?? '';
const withoutNode = new Map([...places].filter(([name]) => name !== lostNode));
const second = report('after a lost node', { ...search, before: gangOn(start) }, withoutNode, start);
const lostRack = withoutNode.get(second[PODS / 2] ?? '')?.rack;
const withoutRack = new Map([...withoutNode].filter(([, { rack }]) => rack !== lostRack));
report('after a lost rack', { ...search, before: gangOn(second) }, withoutRack, second);
report('after labels changed', search, dealtAnew(places, 2 * RACKS.nodesPerRack));

const morePlaces = placesByName(MORE_RACKS);
const names = [...morePlaces.keys()];
const searched = capacityOf(morePlaces);
const found = searchNodes(search, searched);
for (const count of [0, 4, 12, 48, 96]) {
  const taken = new Set(Array.from({ length: count }, (_, index) => names[(index * STEP) % names.length] ?? ''));
  const capacity = capacityOf(morePlaces, taken);
  const { value: repaired, ms } = timed(() => foundNow(search, { found, searched: searched.fabric }, capacity));
  const least = fewestRacks(morePlaces, { pods: PODS, spares: RACKS.spares, taken });
  const nodes = repaired === undefined ? [] : nodesOf(repaired);
  const moved = nodes.filter((node, pod) => node !== nodesOf(found)[pod]).length;
  const what =
    repaired === undefined
      ? 'the nodes must be searched again'
      : `${racksOf(nodes, morePlaces)} racks, the fewest are ${least}, ${moved} pods moved`;
  console.log(`others took ${count} nodes during the search: ${what}, ${ms.toFixed(0)} ms`);
}

function placesByName(cluster: RackCluster): Places {
  const all = placesOf(cluster);
  return new Map(all.map((place, index) => [`node-${String((index * STEP) % all.length).padStart(5, '0')}`, place]));
}

function capacityOf(of: Places, taken: ReadonlySet<string> = new Set()): FabricCapacity {
  const facts = [...of].map(([name, place]) => ({
    name,
    labels: rackLabels(place),
    gpuCapacity: GPUS,
    schedulable: true,
    ready: true,
  }));
  const usedGpus = new Map([...taken].map((name) => [name, GPUS]));
  return { fabric: fabricFromNodes(facts), usedGpus, reserve: { nodesPerNvlinkDomain: RACKS.spares } };
}

/** Searches, prints what was found, and returns the node of each pod. */
function report(when: string, one: NodeSearch, of: Places, before?: readonly string[]): readonly string[] {
  const capacity = capacityOf(of);
  const { value, ms } = timed(() => searchNodes(one, capacity));
  const nodes = nodesOf(value);
  const least = fewestRacks(of, { pods: PODS, spares: RACKS.spares });
  // Without a whole rack and one more node, only the reserve is enough.
  const fewest = least === Infinity ? 'it needs the reserve' : `the fewest outside the reserve are ${least}`;
  const moved = before === undefined ? '' : `, ${nodes.filter((node, pod) => node !== before[pod]).length} pods moved`;
  console.log(`${when}: ${racksOf(nodes, of)} racks, ${fewest}${moved}, ${ms.toFixed(0)} ms`);
  return nodes;
}

function nodesOf(outcome: FoundNodes): readonly string[] {
  if (outcome.kind !== 'placed') throw new Error(`the gang was not placed: ${outcome.message}`);
  return outcome.nodes;
}

function gangOn(nodes: readonly string[]): NonNullable<NodeSearch['before']> {
  return { nodes, ranksPerPod: GPUS };
}

function timed<T>(act: () => T): { readonly value: T; readonly ms: number } {
  const beganMs = cpuMs();
  const value = act();
  return { value, ms: cpuMs() - beganMs };
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
