/**
 * Which rank causes a wait? The walk goes from a rank that waits in a group to the members that are missing there, then to the groups in which those
 * wait, and so on. A missing rank that waits nowhere is the root. This is NVRx's flight-recorder attribution as a general wait-for graph.
 */
import type { RankWatermark } from '@coxswain/api-types';
import type { GangGroup } from '../gang/gang.ts';

type Mark = RankWatermark['groups'][number];

/** What is known of the ranks when the walk begins. */
export interface KnownRanks {
  readonly groups: ReadonlyMap<string, GangGroup>;
  /** Undefined if the rank never sent a watermark, or its newest one is too old to count. */
  readonly watermarkOf: (rank: number) => RankWatermark | undefined;
}

/** A rank that has not called an operation in which other ranks of its group wait. */
export interface Missing {
  readonly rank: number;
  /** The group in which other ranks wait for it. */
  readonly group: string;
}

/** What a walk found. */
export type WalkOutcome =
  /** These ranks are missing in a group and wait in none. */
  | { readonly kind: 'sinks'; readonly missing: readonly Missing[] }
  /** All ranks wait in a circle, and these skipped the call in which the others wait. */
  | { readonly kind: 'skipped'; readonly missing: readonly Missing[] }
  /** These ranks wait with all others in a later call, but have called one collective fewer before it. */
  | { readonly kind: 'calledLess'; readonly missing: readonly Missing[] }
  | {
      readonly kind: 'unlike';
      readonly group: string;
      readonly odd: readonly number[];
      readonly calls: readonly [string, string];
    }
  /** The walk leads into a group that no rank declared. */
  | { readonly kind: 'unknown' }
  /** All members have begun the operation, none has completed it, and none waits elsewhere for a missing rank. */
  | { readonly kind: 'nobodyMissing'; readonly group: string };

/** The operations in which a rank waits: begun, and not complete. */
export function waitsOf(watermark: RankWatermark): readonly Mark[] {
  return watermark.groups.filter(({ started, completed }) => started > completed);
}

/** Walks from one missing rank to the root. Adds the visited places to `seen`; a walk from any of them finds the same root. */
export function walk(from: Missing, known: KnownRanks, seen = new Set<string>()): WalkOutcome {
  const followed = new Set<number>();
  const sinks = new Map<number, Missing>();
  const senders = new Map<number, Missing>();
  const passed: { readonly missing: readonly Missing[] }[] = [];
  const open: Missing[] = [from];
  const complete: string[] = [];
  let leadsNowhere = false;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const place = placeOf(next, known);
    if (place === undefined || seen.has(place)) continue;
    seen.add(place);
    const found = membersAt(next, known);
    if (found === undefined) {
      leadsNowhere = true;
      continue;
    }
    if (found.kind === 'unlike') return found;
    if (found.kind === 'nobodyMissing') {
      complete.push(found.group);
      for (const wait of otherWaitsIn(found.group, known, followed)) open.push(wait);
      continue;
    }
    passed.push(found);
    for (const missing of found.missing) {
      const waits = waitsElsewhere(missing, known);
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
    const left = passed.find(({ missing }) => haveLeftOut(missing, groups, known));
    return left === undefined ? { kind: 'nobodyMissing', group } : { kind: 'calledLess', missing: left.missing };
  }
  // Most engines continue after a send, so a send that was not received need not be what holds the sender.
  if (senders.size > 0) return { kind: 'sinks', missing: [...senders.values()] };
  return { kind: 'skipped', missing: leftOutBy(passed, known) };
}

/** With more places, or more ranks missing at one place, peers are not compared. */
const FEW = 8;
/** Peers of a rank that are compared. */
const MOST_PEERS = 64;

/**
 * The ranks that skipped a call are few and all others of their group wait there; in every other group of the circle many ranks are missing. If equally
 * few are missing on both sides, as in groups of two, the ranks with fewer calls than their peers are the cause.
 */
function leftOutBy(passed: readonly { readonly missing: readonly Missing[] }[], known: KnownRanks): readonly Missing[] {
  const fewest = passed.reduce((least, { missing }) => Math.min(least, missing.length), Infinity);
  const doubts = passed.filter(({ missing }) => missing.length === fewest);
  const isAsked = doubts.length > 1 && doubts.length <= FEW && fewest <= FEW;
  const behind = isAsked ? doubts.find(({ missing }) => missing.every((one) => isBehindPeers(one, known))) : undefined;
  return (behind ?? doubts[0])?.missing ?? [];
}

/**
 * Whether the missing ranks of a place are few, and wait with all others of that group in a call that no rank misses. They have then passed that place
 * with one call fewer, or their hosts are the only ones that wait for it.
 */
function haveLeftOut(missing: readonly Missing[], complete: ReadonlySet<string>, known: KnownRanks): boolean {
  const { groups, watermarkOf } = known;
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
 * Whether most ranks that wait in the same operation have made more calls in groups like the one where this rank is missing. Ranks that run one program
 * have made the same calls when they reach the same line.
 */
function isBehindPeers({ rank, group }: Missing, { groups, watermarkOf }: KnownRanks): boolean {
  const like = groups.get(group);
  const own = watermarkOf(rank);
  if (like === undefined || own === undefined) return false;
  const done = ({ groups: marks }: RankWatermark): number =>
    marks.reduce((sum, mark) => sum + (isAlike(groups.get(mark.group), like) ? mark.started : 0), 0);
  const mine = done(own);
  const peers = peersOf(own, { groups, watermarkOf });
  return peers.filter((peer) => done(peer) > mine).length > peers.length / 2;
}

/** Some of the ranks that wait in the same operation as this rank. */
function peersOf(own: RankWatermark, { groups, watermarkOf }: KnownRanks): readonly RankWatermark[] {
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

/** Groups of the same name; for unnamed groups, groups of the same size. */
function isAlike(one: GangGroup | undefined, other: GangGroup): boolean {
  if (one === undefined) return false;
  const areUnnamed = one.name === one.group && other.name === other.group;
  return one.name === other.name || (areUnnamed && one.ranks.length === other.ranks.length);
}

function isSamePlace(one: Mark, other: Mark): boolean {
  return one.group === other.group && one.completed === other.completed;
}

function waitsElsewhere({ rank }: Missing, { watermarkOf }: KnownRanks): (Missing & { readonly operation: string })[] {
  const watermark = watermarkOf(rank);
  if (watermark === undefined) return [];
  return waitsOf(watermark).map(({ group, operation }) => ({ rank, group, operation }));
}

/**
 * Other waits of a group's members. A host enqueues collectives before its GPU runs them, and NCCL reports both alike unless it is timed. All members then
 * seem to be present, and the absent rank is missing in an operation that one of them called earlier.
 */
function otherWaitsIn(group: string, known: KnownRanks, followed: Set<number>): readonly Missing[] {
  const members = known.groups.get(group)?.ranks ?? [];
  const waits: Missing[] = [];
  for (const rank of members) {
    if (followed.has(rank)) continue;
    followed.add(rank);
    waits.push(...waitsElsewhere({ rank, group }, known));
  }
  return waits;
}

function placeOf({ rank, group }: Missing, { watermarkOf }: KnownRanks): string | undefined {
  const own = markOf(watermarkOf(rank), group);
  return own === undefined ? undefined : placeName(group, own.completed + 1);
}

/** Identifies one operation of a group: members that wait in it get the same name. `front` is the operation's sequence number. */
export function placeName(group: string, front: number): string {
  return `${group} ${front}`;
}

type Members =
  | { readonly kind: 'missing'; readonly missing: readonly Missing[] }
  | Extract<WalkOutcome, { kind: 'unlike' | 'nobodyMissing' }>;

/** The members that are missing where this rank waits. Undefined for a group that was never declared. */
function membersAt({ rank, group }: Missing, { groups, watermarkOf }: KnownRanks): Members | undefined {
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

/** The two ends of one transfer use different names for it. */
const POINT_TO_POINT: ReadonlySet<string> = new Set(['send', 'recv']);
/** Operations in which members may transfer different amounts. */
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
  // With equally many on both sides, both are named.
  const accused = most[1].length === second[1].length ? byCall : others;
  const odd = accused.flatMap(([, members]) => members.map(({ rank }) => rank));
  return { kind: 'unlike', group, odd, calls: [most[0], second[0]] };
}
