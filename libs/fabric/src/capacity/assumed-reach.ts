/** Do labels say that the NICs of these nodes reach each other? */
import { NODE_LABELS } from '@coxswain/api-types';
import { PLACE_LABELS } from '../nodes/dialects.ts';
import type { FabricNode } from '../nodes/fabric.ts';
import { outermostSwitch, placeName } from '../nodes/place-name.ts';
import { byText } from './islands.ts';

/** The most switches that are named. */
const MOST_NAMED = 3;

/**
 * That reachability is assumed, in two sentences; undefined where it is not. It is assumed where nodes of one island are below several outermost
 * switches, and no label names the network that joins them: the zone bounds such a network, and a zone may hold several.
 */
export function assumedReachSentence(nodes: readonly FabricNode[]): string | undefined {
  const byIsland = Map.groupBy(nodes.filter(isOfUnnamedNetwork), ({ island }) => island);
  const [apart] = [...byIsland]
    .map(([, members]) => [...new Set(members.flatMap(({ switches }) => outermostSwitch(switches) ?? []))].sort(byText))
    .filter((names) => names.length > 1)
    .sort((one, other) => other.length - one.length);
  if (apart === undefined) return undefined;
  const shown = apart.slice(0, MOST_NAMED).map(placeName).join(', ');
  const more = apart.length > MOST_NAMED ? `, … (${apart.length})` : '';
  return (
    `No label says that nodes below ${shown}${more} reach each other; it is assumed, and preflight measures it. ` +
    `Where they do not, label the nodes of each network with ${NODE_LABELS.nicIsland}.`
  );
}

function isOfUnnamedNetwork({ readFrom }: FabricNode): boolean {
  const key = readFrom?.island;
  return key === undefined || PLACE_LABELS.some((place) => place === key);
}
