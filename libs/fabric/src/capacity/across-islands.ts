/**
 * Which groups of a gang may have members on two islands of the network? This is the one home of that rule.
 *
 * By default none: the whole gang is in one island. NICs of two classes cannot connect (NCCL refuses InfiniBand with RoCE, net_ib/connect.cc), and a
 * communicator that has such members has to use sockets. Holmes lets pipelines and the group of the shared embedding cross, each communicator with
 * settings of its own (arXiv 2312.03549). That takes an engine that sets the network of every communicator, and no current engine does. Megatron-LM's
 * `--nccl-communicator-config-path` covers the groups that it makes (parallel_state.py). It does not cover the group of all ranks, which carries barriers
 * and losses (initialize.py gives `init_process_group` no options). So the job chooses what remains (`resources.acrossIslands`):
 *
 * - Pipeline: its islands are of one NIC class and reach each other, merely below different roots. Stages cross, other groups do not.
 * - Sockets: every rank uses TCP, whatever NICs its node has, so that any group may cross.
 *
 * Both only where no island holds the whole gang.
 */
import type { TrainingJobSpec } from '@coxswain/api-types';
import type { FabricCapacity, FabricNode } from '../nodes/fabric.ts';
import type { AcrossIslands, GangShape } from '../traffic/gang-shape.ts';
import { byText, type IslandNodes, islandsFor } from './islands.ts';
import { pack } from './pack.ts';

const WORDS = { Never: 'never', Pipeline: 'pipeline', Sockets: 'anyGroup' } as const;

/** What the job says, in the words of placement. */
export function acrossIslandsOf({
  acrossIslands = 'Never',
}: Pick<TrainingJobSpec['resources'], 'acrossIslands'>): AcrossIslands {
  return WORDS[acrossIslands];
}

/** Node names, pod by pod, within the rule; undefined where the gang does not fit. */
export function packWithin(
  acrossIslands: AcrossIslands,
  shape: GangShape,
  nodes: readonly FabricNode[],
  freeGpus: (node: FabricNode) => number,
): readonly string[] | undefined {
  const islands = islandsFor(shape, nodes, freeGpus);
  const alone = pack(shape, islands, 'one');
  if (alone !== undefined) return alone;
  switch (acrossIslands) {
    case 'never':
      return undefined;
    case 'pipeline':
      return packInOneClass(shape, islands);
    case 'anyGroup': {
      const joined = nodes.map((node) => ({ ...node, island: '' }));
      return pack(shape, islandsFor(shape, joined, freeGpus), 'one');
    }
  }
}

/** For each class of NIC the islands whose nodes are all of it; only these can be joined without sockets. */
export function capacitiesOfOneClass(capacity: FabricCapacity): readonly FabricCapacity[] {
  const { nodes } = capacity.fabric;
  const classOf = ({ nicType = '' }: FabricNode): string => nicType.toLowerCase();
  const pure = [...Map.groupBy(nodes, ({ island }) => island).values()].filter(
    (members) => new Set(members.map(classOf)).size === 1,
  );
  const byClass = Map.groupBy(pure.flat(), classOf);
  return [...byClass]
    .sort(([one], [other]) => byText(one, other))
    .map(([, alike]) => ({ ...capacity, fabric: { ...capacity.fabric, nodes: alike } }));
}

/** Over islands of one class, the first by name that holds it. An island of several classes meets no other. */
function packInOneClass(shape: GangShape, islands: readonly IslandNodes[]): readonly string[] | undefined {
  const byClass = Map.groupBy(
    islands.filter(({ nicClass }) => nicClass !== undefined),
    ({ nicClass = '' }) => nicClass,
  );
  for (const [, alike] of [...byClass].sort(([one], [other]) => byText(one, other))) {
    const nodes = pack(shape, alike, 'several');
    if (nodes !== undefined) return nodes;
  }
  return undefined;
}
