/** What is at the root of waits that are too long, and what is said of it? */
import type { RankWatermark } from '@coxswain/api-types';
import type { Gang } from '../gang/gang.ts';
import { ranksInWords, type VerdictDraft } from '../verdict/verdict.ts';
import type { Patience } from './patience.ts';
import type { Standings, Wait } from './rank-progress.ts';
import { type Missing, placeName, waitsOf, walk, type WalkOutcome } from './walk.ts';

/** Of a group on no more nodes these are named; who has more to look at begins with halves. */
const MAX_SUSPECT_NODES = 4;
/** As much as an incident holds of a value: a name that is cut may be another node's. */
const MAX_NAMES_CHARACTERS = 256;

type Named = Pick<VerdictDraft, 'kind' | 'ranks' | 'message' | 'confidence' | 'evidence'> & {
  readonly group?: string;
  /** What is done when the wait has lasted as long as it may. */
  readonly thenAction: VerdictDraft['action'];
};

export interface HangView {
  readonly gang: Gang;
  readonly standings: Standings;
  readonly patience: Patience;
  readonly isUnheard: (rank: number) => boolean;
  readonly nowMs: number;
}

/** What walks of one look have done. */
export interface Look {
  /** Places from which a walk came to a root that was named: from there one comes to nothing else. */
  readonly explained: Set<string>;
  /** How many were looked at, some of them more than once. */
  places: number;
}

/** Of one wait. Empty where whom it waits for still goes on, or is in a phase that may take so long, and where an earlier wait of the same look led by here. */
export function nameRoot(wait: Wait, view: HangView, look: Look): readonly Named[] {
  if (look.explained.has(placeName(wait.group, wait.front))) return [];
  const standing = {
    groups: view.gang.groups,
    watermarkOf: (rank: number) => (isSilent(rank, view) ? undefined : view.standings.watermarkOf(rank)),
  };
  const seen = new Set<string>();
  const found = inWords(walk(wait, standing, seen), view);
  look.places += seen.size;
  if (found.length > 0) for (const place of seen) look.explained.add(place);
  const evidence = {
    waitedForMs: Math.round(wait.ageMs),
    firstWaiting: wait.rank,
    operation: wait.operation,
    sequence: wait.front,
  };
  return found.map((named) => ({ ...named, evidence: { ...evidence, ...named.evidence } }));
}

/** Who fell silent after it had waited for long is one of those that wait, not the one that they wait for. */
function isSilent(rank: number, { standings, patience, isUnheard }: HangView): boolean {
  if (!isUnheard(rank)) return false;
  const watermark = standings.watermarkOf(rank);
  return (
    watermark === undefined ||
    !waitsOf(watermark).some(
      ({ group, operation, ageMs }) => ageMs > patience.nameAfterMs(standings.keyOf(group, operation)),
    )
  );
}

function inWords(outcome: WalkOutcome, view: HangView): readonly Named[] {
  const keyAt = keysOf(view);
  switch (outcome.kind) {
    case 'sinks':
      return byNode(
        outcome.missing.filter(({ rank, group }) => isStuck(rank, keyAt(group), view)),
        view,
      ).map((missing) => nameSinks(missing, view));
    case 'skipped':
      return outcome.missing.length === 0 ? [] : [nameSkipped(outcome.missing)];
    case 'calledLess':
      return [nameCalledLess(outcome.missing)];
    case 'unlike':
      return [nameUnlike(outcome)];
    case 'nobodyMissing':
      return allWaitLong(outcome.group, keyAt(outcome.group), view) ? [nameNetwork(outcome.group, view.gang)] : [];
    case 'unknown':
      return [];
  }
}

/** Under which the usual length is learnt of what members of a group wait in: another one than that in which the walk began. */
function keysOf({ gang, standings }: HangView): (group: string) => string {
  const keys = new Map<string, string>();
  const find = (group: string): string => {
    for (const rank of gang.groups.get(group)?.ranks ?? []) {
      const watermark = standings.watermarkOf(rank);
      const wait = watermark === undefined ? undefined : waitsOf(watermark).find((one) => one.group === group);
      if (wait !== undefined) return standings.keyOf(group, wait.operation);
    }
    return standings.keyOf(group, 'unknown');
  };
  return (group) => {
    const known = keys.get(group) ?? find(group);
    keys.set(group, known);
    return known;
  };
}

/** What was told of some may be old: they may be through by now. */
function allWaitLong(group: string, key: string, { gang, standings, patience }: HangView): boolean {
  const members = gang.groups.get(group)?.ranks ?? [];
  return members.every((rank) => {
    const mark = standings.watermarkOf(rank)?.groups.find((one) => one.group === group);
    return mark !== undefined && mark.ageMs > patience.nameAfterMs(key);
  });
}

/** Not if it went on since, nor within the patience of its phase. */
function isStuck(rank: number, key: string, view: HangView): boolean {
  const { standings, patience } = view;
  const watermark = standings.watermarkOf(rank);
  if (watermark === undefined || isSilent(rank, view)) return true;
  if (watermark.phase !== 'training') return watermark.phaseAgeMs > patience.phaseMs(rank, watermark.phase);
  return unchangedMs(watermark) > patience.nameAfterMs(key);
}

function unchangedMs({ groups, phaseAgeMs }: RankWatermark): number {
  return Math.min(...groups.map(({ ageMs }) => ageMs), phaseAgeMs);
}

/** Whether it has done nothing for so long that a gang is ended for it. Others may have waited elsewhere, and for longer, for something else. */
function hasStood(rank: number, view: HangView): boolean {
  const { standings, patience, nowMs } = view;
  const watermark = standings.watermarkOf(rank);
  if (watermark === undefined || isSilent(rank, view)) {
    return (standings.silentMs(rank, nowMs) ?? Infinity) > patience.actAfterMs();
  }
  return watermark.phase !== 'training' || unchangedMs(watermark) > patience.actAfterMs();
}

function byNode(missing: readonly Missing[], view: HangView): readonly (readonly Missing[])[] {
  return [
    ...Map.groupBy(
      missing,
      ({ rank }) => `${view.gang.nodeOf(rank) ?? `rank ${rank}`} ${String(isSilent(rank, view))}`,
    ).values(),
  ];
}

function nameSinks(missing: readonly Missing[], view: HangView): Named {
  const { standings, nowMs } = view;
  const ranks = missing.map(({ rank }) => rank);
  const [first] = ranks;
  const silent = first === undefined || isSilent(first, view) || standings.watermarkOf(first) === undefined;
  const group = missing[0]?.group;
  const silentMs = first === undefined ? undefined : standings.silentMs(first, nowMs);
  const phase = first === undefined ? undefined : standings.watermarkOf(first)?.phase;
  return {
    kind: 'hang',
    ranks,
    ...(group === undefined ? {} : { group }),
    message: silent
      ? `Others wait for ${ranksInWords(ranks)}, of which nothing is heard: dead, frozen or cut off.`
      : `Others wait for ${ranksInWords(ranks)}, which waits in no group itself: stuck in its own code, its data or its GPU.`,
    confidence: silent ? 0.95 : 0.9,
    evidence: {
      cause: silent ? 'noTelemetry' : 'rankMissing',
      ...(silent && silentMs !== undefined ? { silentForMs: Math.round(silentMs) } : {}),
      ...(silent || phase === undefined ? {} : { phase }),
    },
    thenAction: ranks.every((rank) => hasStood(rank, view)) ? 'evict' : 'advise',
  };
}

function nameSkipped(missing: readonly Missing[]): Named {
  const ranks = missing.map(({ rank }) => rank);
  const [first] = missing;
  return {
    kind: 'desync',
    ranks,
    ...(first === undefined ? {} : { group: first.group }),
    message: `Everybody waits in a circle: ${ranksInWords(ranks)} went on without an operation in which the others of its group wait. A fault of the program, of no node.`,
    confidence: 0.8,
    evidence: { cause: 'skippedCollective' },
    thenAction: 'stop',
  };
}

/** Not certain enough to end a gang: a host may be the only one of its group that waits for what all of them stand in. */
function nameCalledLess(missing: readonly Missing[]): Named {
  const ranks = missing.map(({ rank }) => rank);
  return {
    ...nameSkipped(missing),
    message: `Everybody waits in one operation, to which ${ranksInWords(ranks)} came with one call less than the others of its group: most likely it left that out. A fault of the program, of no node.`,
    confidence: 0.6,
    thenAction: 'advise',
  };
}

function nameUnlike({ group, odd, calls }: Extract<WalkOutcome, { kind: 'unlike' }>): Named {
  return {
    kind: 'desync',
    ranks: odd,
    group,
    message: `At one place of group ${group} ${ranksInWords(odd)} called ${calls[1]}, the others ${calls[0]}. A fault of the program, of no node.`,
    confidence: 0.95,
    evidence: { cause: 'unlikeOperations', called: calls[1], othersCalled: calls[0] },
    thenAction: 'stop',
  };
}

/** Its nodes are told and none is blamed: one of them is bad, or what lies between them. */
function nameNetwork(group: string, gang: Gang): Named {
  const suspects = suspectNodes(group, gang);
  return {
    kind: 'networkHang',
    ranks: [],
    group,
    message: `All members of group ${group} have called one operation and none is through it: the network between them, one of their NICs, or what a GPU does before it. Test its pairs${nodesInWords(suspects)}.`,
    confidence: 0.7,
    evidence: { cause: 'nobodyMissing', ...suspects },
    thenAction: 'advise',
  };
}

function nodesInWords({ groupNodes, groupNodeNames }: ReturnType<typeof suspectNodes>): string {
  if (groupNodes === undefined) return '';
  return groupNodeNames === undefined ? `, on ${groupNodes} nodes` : `, on ${groupNodeNames}`;
}

/** Where the group's members run: how many nodes, and their names where they are few enough to look at. */
function suspectNodes(group: string, gang: Gang): Readonly<Record<string, number | string>> {
  const members = gang.groups.get(group)?.ranks ?? [];
  const nodes = [...new Set(members.flatMap((rank) => gang.nodeOf(rank) ?? []))];
  if (nodes.length === 0) return {};
  const names = nodes.join(', ');
  const isTold = nodes.length <= MAX_SUSPECT_NODES && names.length <= MAX_NAMES_CHARACTERS;
  return { groupNodes: nodes.length, ...(isTold ? { groupNodeNames: names } : {}) };
}
