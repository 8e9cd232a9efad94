import { parseRanks } from '@coxswain/api-types';
import { coordinatesOfRank, worldSize } from '@coxswain/layout';
import { ranksOfSet } from '../trace/rank-set.ts';
import type { RecordOf, TraceHeader } from '../trace/records.ts';

/** Bounds of what ranks may declare: a job of 16,384 has some 20,000 groups with 80,000 members. */
const MAX_GROUPS = 131_072;
const MAX_MEMBERS = 4_194_304;
/** Objects, array and entries of maps that a group takes beside its text. */
const GROUP_BYTES = 320;
const MEMBER_BYTES = 8;

/** A process group that ranks declared. */
export interface GangGroup {
  readonly group: string;
  readonly name: string;
  readonly ranks: readonly number[];
}

/** The ranks, nodes and process groups of a job. Groups are added when records declare them. */
export interface Gang {
  readonly header: TraceHeader;
  readonly ranks: number;
  readonly nodeOf: (rank: number) => string | undefined;
  /** Pipeline stage of each rank. */
  readonly stageOf: Uint16Array;
  readonly groups: ReadonlyMap<string, GangGroup>;
  readonly declare: (record: RecordOf<'group'>) => void;
  /** Memory that the declared groups take, estimated and never too low. */
  readonly groupBytes: () => number;
}

/** The gang of a trace, before any group is declared. */
export function gangOf(header: TraceHeader): Gang {
  const ranks = worldSize(header.layout);
  const nodes = new Map<number, string>();
  for (const { node, ranks: text } of header.nodes) {
    for (const rank of parseRanks(text, ranks)) nodes.set(rank, node);
  }
  const groups = new Map<string, GangGroup>();
  let members = 0;
  let bytes = 0;
  return {
    header,
    ranks,
    groups,
    nodeOf: (rank) => nodes.get(rank),
    stageOf: Uint16Array.from({ length: ranks }, (_, rank) => coordinatesOfRank(header.layout, rank).pipelineIndex),
    declare: ({ group, name, ranks: text }) => {
      if (groups.has(group) || groups.size >= MAX_GROUPS) return;
      const inside = ranksOfSet(text, ranks);
      if (members + inside.length > MAX_MEMBERS) return;
      members += inside.length;
      bytes += GROUP_BYTES + 2 * (group.length + name.length) + MEMBER_BYTES * inside.length;
      groups.set(group, { group, name, ranks: inside });
    },
    groupBytes: () => bytes,
  };
}
