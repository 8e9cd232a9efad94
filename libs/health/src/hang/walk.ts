/**
 * Whom do waiting ranks wait for, in the end? From a rank that waits in a group to the members that are missing there, to the groups that those wait
 * in, and on: who is missing and waits nowhere is the root. Flight-recorder attribution of NVRx, in the general form of a wait-for graph.
 */
import type { RankWatermark } from '@coxswain/api-types';
import type { GangGroup } from '../gang/gang.ts';

type Mark = RankWatermark['groups'][number];

/** What is known of the ranks when the walk begins. */
export interface Standing {
  readonly groups: ReadonlyMap<string, GangGroup>;
  /** Undefined where it never told, or told nothing for so long that it no longer counts. */
  readonly watermarkOf: (rank: number) => RankWatermark | undefined;
}

export interface Missing {
  readonly rank: number;
  /** Where others wait for it. */
  readonly group: string;
}

export type WalkOutcome =
  /** Missing in a group of others, and waiting in none. */
  | { readonly kind: 'sinks'; readonly missing: readonly Missing[] }
  /** Everybody in the circle waits: these went on without the call that the others wait in. */
  | { readonly kind: 'skipped'; readonly missing: readonly Missing[] }
  /** They stand with all the others in a later call, and have called one less before it. */
  | { readonly kind: 'calledLess'; readonly missing: readonly Missing[] }
  | {
      readonly kind: 'unlike';
      readonly group: string;
      readonly odd: readonly number[];
      readonly calls: readonly [string, string];
    }
  /** It leads into a group of which nobody told who is in it. */
  | { readonly kind: 'unknown' }
  /** All of the group have begun, none is through, and none of them waits elsewhere for one that is missing. */
  | { readonly kind: 'nobodyMissing'; readonly group: string };

/** The operations in which a rank waits: begun, and not complete. */
export function waitsOf(watermark: RankWatermark): readonly Mark[] {
  return watermark.groups.filter(({ started, completed }) => started > completed);
}

/** `seen`: gets the places that it comes by. From each of them it would have come to nothing more. */
export function walk(from: Missing, standing: Standing, seen = new Set<string>()): WalkOutcome {
  const followed = new Set<number>();
  const sinks = new Map<number, Missing>();
  const senders = new Map<number, Missing>();
  const passed: { readonly missing: readonly Missing[] }[] = [];
  const open: Missing[] = [from];
  const complete: string[] = [];
  let leadsNowhere = false;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const place = placeOf(next, standing);
    if (place === undefined || seen.has(place)) continue;
    seen.add(place);
    const found = lookAt(next, standing);
    if (found === undefined) {
      leadsNowhere = true;
      continue;
    }
    if (found.kind === 'unlike') return found;
    if (found.kind === 'nobodyMissing') {
      complete.push(found.group);
      for (const wait of otherWaitsIn(found.group, standing, followed)) open.push(wait);
      continue;
    }
    passed.push(found);
    for (const missing of found.missing) {
      const waits = waitsElsewhere(missing, standing);
      const roots = waits.length === 0 ? sinks : senders;
      if (!roots.has(missing.rank) && waits.every(({ operation }) => operation === 'send')) {
        roots.set(missing.rank, missing);
      }
      open.push(...waits);
    }
  }
  if (sinks.size > 0) return { kind: 'sinks', missing: [...sinks.values()] };
  const [group] = complete;
  if (leadsNowhere) return { kind: 'unknown' };
  if (group !== undefined) {
    const groups = new Set(complete);
    const left = passed.find(({ missing }) => haveLeftOut(missing, groups, standing));
    return left === undefined ? { kind: 'nobodyMissing', group } : { kind: 'calledLess', missing: left.missing };
  }
  // Most engines go on after a send, so that one that nobody has received need not be what holds the sender.
  if (senders.size > 0) return { kind: 'sinks', missing: [...senders.values()] };
  return { kind: 'skipped', missing: leftOutBy(passed, standing) };
}

/** Of more places, or of more that are missing at one, it is not asked what their peers have done. */
const FEW = 8;
/** Of a rank that are asked. */
const MOST_PEERS = 64;

/**
 * Those who left a call out are few, and all others of their group wait there; in every other group of the circle many are missing. Only where as few
 * are missing on either side, as of groups of two, it is for those who stand beside them to say who has done less than they.
 */
function leftOutBy(
  passed: readonly { readonly missing: readonly Missing[] }[],
  standing: Standing,
): readonly Missing[] {
  const fewest = passed.reduce((least, { missing }) => Math.min(least, missing.length), Infinity);
  const doubts = passed.filter(({ missing }) => missing.length === fewest);
  const isAsked = doubts.length > 1 && doubts.length <= FEW && fewest <= FEW;
  const behind = isAsked
    ? doubts.find(({ missing }) => missing.every((one) => isBehindPeers(one, standing)))
    : undefined;
  return (behind ?? doubts[0])?.missing ?? [];
}

/**
 * Whether those who are missing at a place are few, and stand with all others of that group in a call that nobody is missing in: the same program went by
 * there with one call less, or their hosts are the only ones that wait for it.
 */
function haveLeftOut(missing: readonly Missing[], complete: ReadonlySet<string>, standing: Standing): boolean {
  const { groups, watermarkOf } = standing;
  const [first] = missing;
  if (first === undefined || missing.length > FEW) return false;
  const absent = new Set(missing.map(({ rank }) => rank));
  const others = (groups.get(first.group)?.ranks ?? []).filter((rank) => !absent.has(rank));
  if (missing.length >= others.length) return false;
  const placesOf = (rank: number): readonly Mark[] => {
    const watermark = watermarkOf(rank);
    return watermark === undefined ? [] : waitsOf(watermark).filter(({ group }) => complete.has(group));
  };
  return placesOf(first.rank).some((place) =>
    [...absent, ...others.slice(0, MOST_PEERS)].every((rank) => placesOf(rank).some((one) => isSamePlace(one, place))),
  );
}

/**
 * Whether most of those that wait in the same operation as this rank have done more than it has in groups like the one where it is missing: ranks
 * that run one program have done the same by the same line of it.
 */
function isBehindPeers({ rank, group }: Missing, { groups, watermarkOf }: Standing): boolean {
  const like = groups.get(group);
  const own = watermarkOf(rank);
  if (like === undefined || own === undefined) return false;
  const done = ({ groups: marks }: RankWatermark): number =>
    marks.reduce((sum, mark) => sum + (isAlike(groups.get(mark.group), like) ? mark.started : 0), 0);
  const mine = done(own);
  const peers = peersOf(own, { groups, watermarkOf });
  return peers.filter((peer) => done(peer) > mine).length > peers.length / 2;
}

/** Some of those that wait where this rank does. */
function peersOf(own: RankWatermark, { groups, watermarkOf }: Standing): readonly RankWatermark[] {
  const peers: RankWatermark[] = [];
  for (const wait of waitsOf(own)) {
    for (const member of groups.get(wait.group)?.ranks ?? []) {
      if (peers.length === MOST_PEERS) return peers;
      const watermark = member === own.rank ? undefined : watermarkOf(member);
      if (watermark !== undefined && waitsOf(watermark).some((one) => isSamePlace(one, wait))) peers.push(watermark);
    }
  }
  return peers;
}

/** Called the same; or called nothing, so that the name is its own, and of as many members. */
function isAlike(one: GangGroup | undefined, other: GangGroup): boolean {
  if (one === undefined) return false;
  const areUnnamed = one.name === one.group && other.name === other.group;
  return one.name === other.name || (areUnnamed && one.ranks.length === other.ranks.length);
}

function isSamePlace(one: Mark, other: Mark): boolean {
  return one.group === other.group && one.completed === other.completed;
}

function waitsElsewhere({ rank }: Missing, { watermarkOf }: Standing): (Missing & { readonly operation: string })[] {
  const watermark = watermarkOf(rank);
  if (watermark === undefined) return [];
  return waitsOf(watermark).map(({ group, operation }) => ({ rank, group, operation }));
}

/**
 * What else the members of a group wait in. A host that runs ahead of its GPU has called what the GPU has not come to, and NCCL does not tell that apart
 * unless it is timed: then everybody seems to be there, and who is not is missing where one of them was before.
 */
function otherWaitsIn(group: string, standing: Standing, followed: Set<number>): readonly Missing[] {
  const members = standing.groups.get(group)?.ranks ?? [];
  const waits: Missing[] = [];
  for (const rank of members) {
    if (followed.has(rank)) continue;
    followed.add(rank);
    waits.push(...waitsElsewhere({ rank, group }, standing));
  }
  return waits;
}

function placeOf({ rank, group }: Missing, { watermarkOf }: Standing): string | undefined {
  const own = markOf(watermarkOf(rank), group);
  return own === undefined ? undefined : placeName(group, own.completed + 1);
}

/** An operation of a group: all that wait in it see the same. `front`: its number. */
export function placeName(group: string, front: number): string {
  return `${group} ${front}`;
}

type Look =
  | { readonly kind: 'missing'; readonly missing: readonly Missing[] }
  | Extract<WalkOutcome, { kind: 'unlike' | 'nobodyMissing' }>;

/** Who is missing where this rank waits. Undefined for a group that was never declared. */
function lookAt({ rank, group }: Missing, { groups, watermarkOf }: Standing): Look | undefined {
  const members = groups.get(group)?.ranks;
  const own = markOf(watermarkOf(rank), group);
  if (members === undefined || own === undefined) return undefined;
  const front = own.completed + 1;
  const missing: Missing[] = [];
  const there: { readonly rank: number; readonly mark: Mark }[] = [];
  for (const member of members) {
    const mark = markOf(watermarkOf(member), group);
    if (mark === undefined || mark.started < front) missing.push({ rank: member, group });
    else if (mark.completed + 1 === front) there.push({ rank: member, mark });
  }
  const unlike = unlikeCalls(group, there);
  if (unlike !== undefined) return unlike;
  if (missing.length === 0) return { kind: 'nobodyMissing', group };
  return { kind: 'missing', missing };
}

function markOf(watermark: RankWatermark | undefined, group: string): Mark | undefined {
  return watermark?.groups.find((mark) => mark.group === group);
}

/** Both ends of one transfer call it by names of their own. */
const POINT_TO_POINT: ReadonlySet<string> = new Set(['send', 'recv']);
/** Members may give unlike amounts. */
const UNEVEN: ReadonlySet<string> = new Set(['all_to_all', 'gather', 'scatter', 'point_to_point']);

function callOf({ operation, bytes }: Mark): string {
  const name = POINT_TO_POINT.has(operation) ? 'point_to_point' : operation;
  return UNEVEN.has(name) ? name : `${name} of ${bytes} B`;
}

function unlikeCalls(
  group: string,
  there: readonly { readonly rank: number; readonly mark: Mark }[],
): Extract<WalkOutcome, { kind: 'unlike' }> | undefined {
  const byCall = [...Map.groupBy(there, ({ mark }) => callOf(mark))].sort((a, b) => b[1].length - a[1].length);
  const [most, ...others] = byCall;
  const [second] = others;
  if (most === undefined || second === undefined) return undefined;
  // Of as many on either side nobody can say which is right.
  const accused = most[1].length === second[1].length ? byCall : others;
  const odd = accused.flatMap(([, members]) => members.map(({ rank }) => rank));
  return { kind: 'unlike', group, odd, calls: [most[0], second[0]] };
}
