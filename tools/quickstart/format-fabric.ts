/** What connects the nodes, and why does each rank sit where it does? In a few lines that a newcomer reads. */
import type { ClusterFabric, FabricPlace, RankPlace } from '@coxswain/api-types';
import { namedSwitch, ownNameOf } from '@coxswain/fabric';
import { formatCount } from '@coxswain/units';

/** Of more places, or pods, the rest is a number. */
const MOST_LINES = 8;

interface PlacedNode {
  readonly name: string;
  readonly gpus: number;
  readonly place: FabricPlace;
  readonly nicType: string | null;
}

/** How many nodes, NVLink domains, switches and islands there are, which nodes are below what, and which labels say so. */
export function fabricLines(fabric: ClusterFabric): readonly string[] {
  const nodes = nodesOf(fabric);
  const lines = [...Map.groupBy(nodes, ({ place, nicType }) => `${wayDown(place)}${classOf(nicType)}`)].map(
    ([where, members]) => `${where}: ${members.map(({ name }) => name).join(', ')}`,
  );
  const keys = new Set(
    fabric.hardware.flatMap(({ readFrom }) =>
      readFrom.filter(({ fact }) => CONNECTING.has(fact)).map(({ key }) => key),
    ),
  );
  return [countsOf(nodes), ...bounded(lines), `read from ${[...keys].sort().join(', ') || 'no label'}`];
}

const CONNECTING: ReadonlySet<string> = new Set(['nvlinkDomain', 'island', 'switches', 'nicType']);

function countsOf(nodes: readonly PlacedNode[]): string {
  const named = (nameOf: (place: FabricPlace) => string | null | undefined): number =>
    new Set(nodes.flatMap(({ place }) => nameOf(place) ?? [])).size;
  const gpus = nodes.reduce((sum, node) => sum + node.gpus, 0);
  return [
    `${formatCount(nodes.length, 'node')} with ${formatCount(gpus, 'GPU')}`,
    formatCount(
      named(({ nvlinkDomain }) => nvlinkDomain),
      'NVLink domain',
    ),
    formatCount(
      named(({ switches }) => namedSwitch(switches, 0)),
      'leaf switch',
    ).replace(/hs$/, 'hes'),
    formatCount(
      named(({ switches }) => namedSwitch(switches, 1)),
      'spine',
    ),
    formatCount(
      named(({ island }) => island),
      'island',
    ),
  ].join(', ');
}

function classOf(nicType: string | null): string {
  return nicType === null ? '' : ` (${nicType})`;
}

/** `ib-0 › spine-a › leaf-a › nvl-a`: from the island down, as far as somebody says. */
function wayDown({ island, switches, nvlinkDomain }: FabricPlace): string {
  const named = switches.flatMap((_name, tier) => namedSwitch(switches, tier) ?? []);
  return [island, ...named.toReversed(), ...(nvlinkDomain === null ? [] : [nvlinkDomain])].map(ownNameOf).join(' › ');
}

/** Which ranks each pod's node has and where that is, how far groups reach, and what the operator recorded of the placement. */
export function placementLines(
  ranks: readonly RankPlace[],
  where: string | undefined,
  fabric: ClusterFabric,
): readonly string[] {
  const placeOf = new Map(nodesOf(fabric).map(({ name, place }) => [name, place]));
  const pods = [...Map.groupBy(ranks, ({ pod }) => pod).values()].map((members) => {
    const node = members[0]?.node ?? '';
    const place = placeOf.get(node);
    return `${rankWords(members)} on ${node}${place === undefined ? '' : `, ${wayDown(place)}`}`;
  });
  const why = [reachSentence(ranks, placeOf), where ?? ''].filter((sentence) => sentence !== '').join(' ');
  return [...bounded(pods), ...(why === '' ? [] : [`why: ${why}`])];
}

function rankWords(members: readonly RankPlace[]): string {
  const ranks = members.map(({ rank }) => rank).sort((one, other) => one - other);
  const [first = 0, last = first] = [ranks[0], ranks.at(-1)];
  if (ranks.length === 1) return `rank ${first}`;
  return last - first === ranks.length - 1 ? `ranks ${first}-${last}` : `ranks ${ranks.join(', ')}`;
}

const AXES = ['tensorIndex', 'contextIndex', 'dataIndex', 'pipelineIndex'] as const;
type Axis = (typeof AXES)[number];
const GROUPS: Readonly<Record<Axis, string>> = {
  tensorIndex: 'tensor group',
  contextIndex: 'context group',
  dataIndex: 'data group',
  pipelineIndex: 'pipeline',
};

/** Near to far. */
const REACHES: readonly (readonly [
  words: string,
  nameOf: (rank: RankPlace, place: FabricPlace | undefined) => string | null | undefined,
])[] = [
  ['one node', ({ node }) => node],
  ['one NVLink domain', (_rank, place) => place?.nvlinkDomain],
  ['one leaf', (_rank, place) => namedSwitch(place?.switches ?? [], 0)],
  ['one spine', (_rank, place) => namedSwitch(place?.switches ?? [], 1)],
  ['one island', (_rank, place) => place?.island],
];

/** `Each tensor group is in one node, each data group in one NVLink domain.` Empty where no group has two members. */
function reachSentence(ranks: readonly RankPlace[], placeOf: ReadonlyMap<string, FabricPlace>): string {
  const reaches = AXES.flatMap((axis) => {
    const others = AXES.filter((other) => other !== axis);
    const groups = [...Map.groupBy(ranks, (rank) => others.map((other) => rank[other]).join(' ')).values()].filter(
      (members) => members.length > 1,
    );
    return groups.length === 0
      ? []
      : [{ axis, reach: Math.max(...groups.map((members) => reachOf(members, placeOf))) }];
  });
  const words = reaches.map(
    ({ axis, reach }, index) =>
      `each ${GROUPS[axis]}${index === 0 ? ' is' : ''} in ${REACHES[reach]?.[0] ?? 'several islands'}`,
  );
  return words.length === 0 ? '' : `E${words.join(', ').slice(1)}.`;
}

function reachOf(members: readonly RankPlace[], placeOf: ReadonlyMap<string, FabricPlace>): number {
  const found = REACHES.findIndex(([, nameOf]) => {
    const names = new Set(members.map((rank) => nameOf(rank, placeOf.get(rank.node)) ?? undefined));
    return names.size === 1 && !names.has(undefined);
  });
  return found < 0 ? REACHES.length : found;
}

function nodesOf({ nodes, places, hardware }: ClusterFabric): readonly PlacedNode[] {
  return nodes.names.map((name, index) => ({
    name,
    gpus: nodes.gpus[index] ?? 0,
    place: places[nodes.places[index] ?? -1] ?? { island: 'unlabelled', nvlinkDomain: null, switches: [] },
    nicType: hardware[nodes.hardware[index] ?? -1]?.nicType ?? null,
  }));
}

function bounded(lines: readonly string[]): readonly string[] {
  const rest = lines.length - MOST_LINES;
  return rest <= 0 ? lines : [...lines.slice(0, MOST_LINES), `… and ${rest} more`];
}
