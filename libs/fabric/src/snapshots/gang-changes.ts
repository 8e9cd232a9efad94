import type { FabricNode } from '../nodes/fabric.ts';
import type { FabricProblem } from '../nodes/problem.ts';

/** What a gang's placement counted on, of each of its nodes. */
export type Place = Pick<FabricNode, 'name' | 'nvlinkDomain' | 'island' | 'nicType'>;

/** So much of the nodes' places as a gang counts on. */
export function placesOf(nodes: readonly string[], nodeOf: (name: string) => FabricNode | undefined): readonly Place[] {
  return [...new Set(nodes)].flatMap((name) => {
    const node = nodeOf(name);
    if (node === undefined) return [];
    const { nvlinkDomain, island, nicType } = node;
    return [{ name, nvlinkDomain, island, ...(nicType === undefined ? {} : { nicType }) }];
  });
}

/** What is said otherwise now of the nodes of a gang that runs; undefined where nothing is. A node that is gone is none of it: that is the job's to meet. */
export function changeUnderGang(
  job: string,
  before: readonly Place[],
  now: readonly Place[],
): FabricProblem | undefined {
  const today = new Map(now.map((place) => [place.name, place]));
  const isApart = islandsCameApart(before, today);
  const changes = before.flatMap((then) => {
    const change = changeOf(then, today.get(then.name) ?? then, isApart);
    return change === undefined ? [] : [{ name: then.name, change }];
  });
  const [first] = changes;
  if (first === undefined) return undefined;
  const others = changes.length === 1 ? '' : ` So it is with ${changes.length - 1} more of its nodes.`;
  return {
    kind: 'ChangedUnderJob',
    nodes: changes.slice(0, 5).map(({ name }) => name),
    message: `Job ${job} runs on ${first.name}, whose ${first.change}.${others} Its ranks stay where they are. If the labels are right, restart the job, so that it is placed anew; else put them back.`,
  };
}

/** Whether nodes that shared an island do no more. An island that is only called otherwise, as when a second class of NICs joins the cluster, is none. */
function islandsCameApart(before: readonly Place[], today: ReadonlyMap<string, Place>): (island: string) => boolean {
  const names = new Map(
    [...Map.groupBy(before, ({ island }) => island)].map(([island, places]) => [
      island,
      new Set(places.map((then) => (today.get(then.name) ?? then).island)),
    ]),
  );
  return (island) => (names.get(island)?.size ?? 0) > 1;
}

function changeOf(then: Place, now: Place, isApart: (island: string) => boolean): string | undefined {
  if (then.nvlinkDomain !== now.nvlinkDomain) {
    return `NVLink domain was ${then.nvlinkDomain} and is ${now.nvlinkDomain} now`;
  }
  if (then.nicType !== now.nicType) {
    return `class of NICs was ${then.nicType ?? 'not known'} and is ${now.nicType ?? 'not known'} now`;
  }
  if (then.island !== now.island && isApart(then.island)) return `island was ${then.island} and is ${now.island} now`;
  return undefined;
}
