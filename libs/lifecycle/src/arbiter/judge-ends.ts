/** Which gangs may end although no user requested it? Judges all proposed ends together before each of them. */
import { ARBITER_SETTINGS, type ArbiterSettings } from './settings.ts';

/** Causes of unrequested ends. `room`: another job of a higher priority gets the nodes. */
export type EndCause = 'hang' | 'slow' | 'leaving' | 'growth' | 'room';

/** An end that the rules of one job propose, and what it stands on. */
export interface EndProposal {
  readonly cause: EndCause;
  /** The run of ranks, such as `e3i1`. */
  readonly run: string;
  /** Whether its evidence suffices. Otherwise it was only noticed and counts as a member of the set. */
  readonly isDue: boolean;
  /** When what it stands on began, in milliseconds since 1970 by the operator's clock. Absent: when it was proposed first. */
  readonly beganAtMs?: number;
  /** Nodes that are to blame, or that the gang must leave. Empty: none. */
  readonly nodes: readonly string[];
  /** The nearest switches or racks above the nodes; above all nodes of the gang, if none is to blame. */
  readonly switches: readonly string[];
  /** Storage claims that the gang uses, as `namespace/name`. */
  readonly claims: readonly string[];
  /** GPUs that the gang needs elsewhere, and GPUs of free places of the size that it needs. Absent: it needs none, or does not train anyway. */
  readonly room?: { readonly neededGpus: number; readonly freeGpus: number };
  /** The gang saves only when it ends, and what it leaves may be gone at any moment. */
  readonly savesOnlyAtEnd?: boolean;
  /** Its evidence would suffice, but the operator doubts its own view, so it is not due. */
  readonly isDoubted?: boolean;
  /** The end is not due yet: it asks whether it would be granted, and uses nothing of the share. */
  readonly asksOnly?: boolean;
  /** An administrator asked for the node to be emptied now, so the gang leaves it although nothing else has room. */
  readonly isRequested?: boolean;
  /** The gang can wait no longer: the announced time is near. */
  readonly isUrgent?: boolean;
}

/** A proposal of a job. */
export interface JobProposal extends EndProposal {
  readonly jobUid: string;
  readonly namespace: string;
  readonly beganAtMs: number;
}

/** A restart that shows whether restarts help gangs with a common cause. */
export interface Probe {
  readonly of: string;
  readonly hasTrained: boolean;
}

/** An end that was granted. */
export interface GrantedEnd {
  readonly jobUid: string;
  readonly namespace: string;
  readonly run: string;
  readonly cause: EndCause;
  /** Nodes that it blames. */
  readonly nodes: readonly string[];
  /** Milliseconds of the same clock as {@link JobProposal.beganAtMs}. */
  readonly atMs: number;
  /** GPUs that it takes elsewhere and has not taken yet. */
  readonly neededGpus: number;
  /** Whether its nodes are avoided. */
  readonly blames: boolean;
  /** What it has in common with gangs that are held, and whether it trains again. Absent: nothing. */
  readonly probe?: Probe;
}

/** Everything that the arbiter knows at one moment. */
export interface EndsInSight {
  readonly proposals: readonly JobProposal[];
  readonly granted: readonly GrantedEnd[];
  /** Number of gangs that run or are about to run again, by namespace. */
  readonly gangs: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

/** The arbiter's answer. Sentences have no counts and times, so that they stay the same while their reason does. */
export type Ruling =
  /** `blames`: whether the nodes are to be avoided. `probeOf`: see {@link Probe}. */
  | { readonly kind: 'granted'; readonly blames: boolean; readonly probeOf?: string }
  /** `why`: the reason, and what it waits for. */
  | { readonly kind: 'held'; readonly why: string };

/** The ruling on one of the proposals in sight. */
export function judgeEnd(
  proposal: JobProposal,
  inSight: EndsInSight,
  settings: ArbiterSettings = ARBITER_SETTINGS,
): Ruling {
  const before = inSight.granted.find((end) => isSameEnd(end, proposal));
  if (before !== undefined) return { kind: 'granted', blames: before.blames };
  if (!proposal.isDue) return held('what was noticed may pass by itself');
  if (proposal.isUrgent === true) return { kind: 'granted', blames: true };
  const shared = commonCause(proposal, inSight, settings) ?? sharedBefore(proposal, inSight, settings);
  const isOver = shared !== undefined && inSight.nowMs - proposal.beganAtMs >= settings.holdMs;
  if (shared !== undefined && !(isOver && proposal.cause === 'hang'))
    return held(describeShared(proposal.cause, shared));
  const probeOf = shared === undefined ? undefined : describeProbe(proposal, shared);
  if (probeOf !== undefined && hasProbe(probeOf, inSight, settings)) return held(WAITS_FOR_PROBE);
  const saves = proposal.savesOnlyAtEnd === true && !isWidespread(proposal, inSight, settings);
  const needsRoom = proposal.isRequested !== true && !saves;
  if (needsRoom && hasNoRoom(proposal, inSight)) return held(NO_ROOM[proposal.cause]);
  if (isShareSpent(proposal, inSight, settings)) {
    return held(
      `Coxswain has just ended as many gangs ${FOR[proposal.cause]} as it ends at once. It goes on with this one later, if the reason still holds`,
    );
  }
  return { kind: 'granted', blames: probeOf === undefined, ...(probeOf === undefined ? {} : { probeOf }) };
}

const WAITS_FOR_PROBE =
  'other gangs stand still too. Coxswain has restarted one of them, and restarts this one when that one trains again, or half an hour later: check storage and network';

/** Each namespace has its own probes, because a gang that is made never to train would hold up those of others. */
function describeProbe({ namespace }: JobProposal, shared: Shared): string {
  return 'name' in shared ? `${shared.kind} ${shared.name} of ${namespace}` : `moment of ${namespace}`;
}

/** Whether a gang with the same common cause was restarted, and it is not known yet whether that helps. */
function hasProbe(probeOf: string, { granted, nowMs }: EndsInSight, { probeMs }: ArbiterSettings): boolean {
  const probes = granted.flatMap(({ probe, atMs }) => (probe?.of === probeOf && nowMs - atMs < probeMs ? probe : []));
  return probes.length > 0 && !probes.some(({ hasTrained }) => hasTrained);
}

function held(why: string): Ruling {
  return { kind: 'held', why };
}

/** What several gangs share: a claim, a switch, only the moment, or a common cause for which the gang was restarted before. */
type Shared =
  | { readonly kind: 'claim' | 'switch'; readonly name: string }
  | { readonly kind: 'moment' }
  | { readonly kind: 'before' };

const WHERE: Readonly<Record<Exclude<Shared['kind'], 'before'>, string>> = {
  claim: 'that use storage claim',
  switch: 'below switch',
  moment: 'of the cluster',
};

function describeShared(cause: EndCause, shared: Shared): string {
  if (shared.kind === 'before') {
    return 'it was restarted a short time ago because several gangs stood still, so that cause is likelier than a bad node: check storage and network. If it lasts for ten minutes, Coxswain restarts the gang again';
  }
  const others = `other gangs ${WHERE[shared.kind]}${'name' in shared ? ` ${shared.name}` : ''}`;
  return cause === 'hang'
    ? `${others} stand still too, so a common cause is likelier than a bad node: check storage and network. If it lasts for ten minutes, Coxswain restarts one gang, and the others if that helps`
    : `${others} have slow ranks too, so a common cause is likelier than a bad node: check cooling, power and network`;
}

const NO_ROOM: Readonly<Record<EndCause, string>> = {
  hang: 'no other node has room',
  slow: 'no other node has room for the gang. It keeps training with the slow rank until one has',
  leaving:
    'no other node has room for the gang. It keeps training until one has, until the node goes, or until shortly before the announced time',
  growth: 'the free GPUs are about to be used by other gangs',
  room: 'no other node has room',
};

const FOR: Readonly<Record<EndCause, string>> = {
  hang: 'that hang',
  slow: 'with slow ranks',
  leaving: 'whose nodes go away',
  growth: 'that grow',
  room: 'to make room for others',
};

/** What the proposal shares with others that began together with it; undefined: it stands alone. */
function commonCause(
  proposal: JobProposal,
  { proposals, gangs }: EndsInSight,
  settings: ArbiterSettings,
): Shared | undefined {
  const { cause } = proposal;
  if (cause !== 'hang' && cause !== 'slow') return undefined;
  const set = proposals.filter(
    (one) => one.cause === cause && Math.abs(one.beganAtMs - proposal.beganAtMs) <= settings.togetherMs[cause],
  );
  // Gangs that share one bad node have that cause in common.
  const elsewhere = set.filter((one) => one.jobUid === proposal.jobUid || !isOfOneNode(one, proposal));
  for (const kind of ['claim', 'switch'] as const) {
    const name = placesOf(proposal, kind).find(
      (place) => elsewhere.filter((one) => placesOf(one, kind).includes(place)).length >= settings.leastOfPlace,
    );
    if (name !== undefined) return { kind, name };
  }
  const ofNamespace = elsewhere.filter(({ namespace }) => namespace === proposal.namespace);
  const namespaces = new Set(elsewhere.map(({ namespace }) => namespace)).size;
  // Gangs of one namespace say nothing about those of another: their ranks may report what they like.
  const areMany = (hit: number, of: number): boolean =>
    hit >= settings.leastOfCluster && hit > settings.share[cause] * of;
  const isOwn = areMany(ofNamespace.length, gangs.get(proposal.namespace) ?? 0);
  const isOfAll = areMany(elsewhere.length, totalOf(gangs)) && areMany(namespaces, gangs.size);
  return isOwn || isOfAll ? { kind: 'moment' } : undefined;
}

/** A gang that was restarted for a common cause, and soon stands still again, has that cause: its node is not to blame. */
function sharedBefore(
  { jobUid, cause }: JobProposal,
  { granted, nowMs }: EndsInSight,
  { probeMs }: ArbiterSettings,
): Shared | undefined {
  const wasProbe = granted.some(
    (end) => end.jobUid === jobUid && end.cause === cause && end.probe !== undefined && nowMs - end.atMs < probeMs,
  );
  return wasProbe ? { kind: 'before' } : undefined;
}

/** Whether more gangs than may end for this cause at once are to end for it. */
function isWidespread({ cause }: JobProposal, { proposals, gangs }: EndsInSight, settings: ArbiterSettings): boolean {
  const jobs = proposals.filter((one) => one.cause === cause).length;
  return jobs >= settings.leastOfCluster && jobs > settings.share[cause] * totalOf(gangs);
}

function totalOf(gangs: EndsInSight['gangs']): number {
  return [...gangs.values()].reduce((sum, count) => sum + count, 0);
}

function placesOf({ claims, switches }: EndProposal, kind: 'claim' | 'switch'): readonly string[] {
  return kind === 'claim' ? claims : switches;
}

function isOfOneNode({ nodes }: Pick<EndProposal, 'nodes'>, other: Pick<EndProposal, 'nodes'>): boolean {
  return nodes.length === 1 && other.nodes.length === 1 && nodes[0] === other.nodes[0];
}

/** GPUs that others were granted and have not taken yet do not count as free. Pods of all sizes compete for them. */
function hasNoRoom({ room, jobUid }: JobProposal, { granted }: EndsInSight): boolean {
  if (room === undefined) return false;
  const grantedGpus = granted.reduce((sum, end) => sum + (end.jobUid === jobUid ? 0 : end.neededGpus), 0);
  return room.neededGpus > room.freeGpus - grantedGpus;
}

/**
 * Whether as many gangs were ended for this cause as may be in a window. Gangs that were ended for one node count as one. Those of one other namespace
 * take half of the share at most.
 */
function isShareSpent(
  { cause, nodes, namespace }: JobProposal,
  { granted, gangs, nowMs }: EndsInSight,
  settings: ArbiterSettings,
): boolean {
  const recent = granted.filter((end) => end.cause === cause && nowMs - end.atMs < settings.windowMs);
  if (nodes.length === 1 && recent.some((end) => isOfOneNode(end, { nodes }))) return false;
  const most = Math.max(1, Math.floor(settings.share[cause] * totalOf(gangs)));
  const spent = [...Map.groupBy(recent, (end) => end.namespace)].map(([of, ends]) => {
    const count = new Set(ends.map((end) => (end.nodes.length === 1 ? end.nodes[0] : `${end.jobUid} ${end.run}`))).size;
    return of === namespace ? count : Math.min(count, most / 2);
  });
  return spent.reduce((sum, count) => sum + count, 0) >= most;
}

function isSameEnd(end: GrantedEnd, { jobUid, run, cause }: JobProposal): boolean {
  return end.jobUid === jobUid && end.run === run && end.cause === cause;
}
