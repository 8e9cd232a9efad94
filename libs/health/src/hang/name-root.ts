/** Which rank, network or program causes a wait that is too long? Turns the outcome of a walk into a verdict. */
import type { RankWatermark } from '@coxswain/api-types';
import type { Gang } from '../gang/gang.ts';
import { capitalize, describeRanks, type VerdictDraft } from '../verdict/verdict.ts';
import type { Patience } from './patience.ts';
import type { RankProgress, Wait } from './rank-progress.ts';
import { type Missing, placeName, waitsOf, walk, type WalkOutcome } from './walk.ts';

/** Node names are listed up to this number; with more nodes, testing begins with halves of the group. */
const MAX_SUSPECT_NODES = 4;
/** An incident stores values up to this length; a cut name could be that of another node. */
const MAX_NAMES_CHARACTERS = 256;

/** A root that a walk found, and what Coxswain does about it. */
export type Named = Pick<VerdictDraft, 'kind' | 'ranks' | 'message' | 'confidence' | 'evidence'> & {
  readonly group?: string;
  /** The action once the wait exceeds its limit. */
  readonly thenAction: VerdictDraft['action'];
};

/** What is known of the gang during one check. */
export interface HangView {
  readonly gang: Gang;
  readonly progress: RankProgress;
  readonly patience: Patience;
  readonly isSilent: (rank: number) => boolean;
  readonly nowMs: number;
}

/** What the walks of one check have visited. */
export interface WalkBudget {
  /** Places from which a walk reached a root that was named; another walk from there finds the same root. */
  readonly explained: Set<string>;
  /** Places visited so far; repeated visits count. */
  places: number;
}

/** The roots of one wait. Empty if the awaited rank still makes progress, if its phase may take this long, or if an earlier walk of the same check passed here. */
export function nameRoot(wait: Wait, view: HangView, budget: WalkBudget): readonly Named[] {
  if (budget.explained.has(placeName(wait.group, wait.front))) return [];
  const known = {
    groups: view.gang.groups,
    watermarkOf: (rank: number) => (countsAsSilent(rank, view) ? undefined : view.progress.watermarkOf(rank)),
  };
  const seen = new Set<string>();
  const found = nameOutcome(walk(wait, known, seen), view);
  budget.places += seen.size;
  if (found.length > 0) for (const place of seen) budget.explained.add(place);
  const evidence = {
    waitedForMs: Math.round(wait.ageMs),
    firstWaiting: wait.rank,
    operation: wait.operation,
    sequence: wait.front,
  };
  return found.map((named) => ({ ...named, evidence: { ...evidence, ...named.evidence } }));
}

/** A rank that fell silent after a long wait is one of the waiting ranks, not the one that they wait for. */
function countsAsSilent(rank: number, { progress, patience, isSilent }: HangView): boolean {
  if (!isSilent(rank)) return false;
  const watermark = progress.watermarkOf(rank);
  return (
    watermark === undefined ||
    !waitsOf(watermark).some(
      ({ group, operation, ageMs }) => ageMs > patience.nameAfterMs(progress.keyOf(group, operation)),
    )
  );
}

function nameOutcome(outcome: WalkOutcome, view: HangView): readonly Named[] {
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

/** The key of the operation in which members of a group wait. It may differ from the operation in which the walk began. */
function keysOf({ gang, progress }: HangView): (group: string) => string {
  const keys = new Map<string, string>();
  const find = (group: string): string => {
    for (const rank of gang.groups.get(group)?.ranks ?? []) {
      const watermark = progress.watermarkOf(rank);
      const wait = watermark === undefined ? undefined : waitsOf(watermark).find((one) => one.group === group);
      if (wait !== undefined) return progress.keyOf(group, wait.operation);
    }
    return progress.keyOf(group, 'unknown');
  };
  return (group) => {
    const known = keys.get(group) ?? find(group);
    keys.set(group, known);
    return known;
  };
}

/** A watermark may be old, so each member must have waited long by its own report. */
function allWaitLong(group: string, key: string, { gang, progress, patience }: HangView): boolean {
  const members = gang.groups.get(group)?.ranks ?? [];
  return members.every((rank) => {
    const mark = progress.watermarkOf(rank)?.groups.find((one) => one.group === group);
    return mark !== undefined && mark.ageMs > patience.nameAfterMs(key);
  });
}

/** Whether a rank has made no progress for longer than its phase or operation may take. */
function isStuck(rank: number, key: string, view: HangView): boolean {
  const { progress, patience } = view;
  const watermark = progress.watermarkOf(rank);
  if (watermark === undefined || countsAsSilent(rank, view)) return true;
  if (watermark.phase !== 'training') return watermark.phaseAgeMs > patience.phaseMs(rank, watermark.phase);
  return unchangedMs(watermark) > patience.nameAfterMs(key);
}

function unchangedMs({ groups, phaseAgeMs }: RankWatermark): number {
  return Math.min(...groups.map(({ ageMs }) => ageMs), phaseAgeMs);
}

/** Whether a rank has made no progress for so long that Coxswain ends the gang. Other ranks may have waited longer for another cause. */
function hasStood(rank: number, view: HangView): boolean {
  const { progress, patience, nowMs } = view;
  const watermark = progress.watermarkOf(rank);
  if (watermark === undefined || countsAsSilent(rank, view)) {
    return (progress.silentMs(rank, nowMs) ?? Infinity) > patience.actAfterMs();
  }
  return watermark.phase !== 'training' || unchangedMs(watermark) > patience.actAfterMs();
}

function byNode(missing: readonly Missing[], view: HangView): readonly (readonly Missing[])[] {
  return [
    ...Map.groupBy(
      missing,
      ({ rank }) => `${view.gang.nodeOf(rank) ?? `rank ${rank}`} ${String(countsAsSilent(rank, view))}`,
    ).values(),
  ];
}

function nameSinks(missing: readonly Missing[], view: HangView): Named {
  const { progress, nowMs } = view;
  const ranks = missing.map(({ rank }) => rank);
  const [first] = ranks;
  const silent = first === undefined || countsAsSilent(first, view) || progress.watermarkOf(first) === undefined;
  const group = missing[0]?.group;
  const silentMs = first === undefined ? undefined : progress.silentMs(first, nowMs);
  const phase = first === undefined ? undefined : progress.watermarkOf(first)?.phase;
  return {
    kind: 'hang',
    ranks,
    ...(group === undefined ? {} : { group }),
    message: silent
      ? `Others wait for ${describeRanks(ranks)}, which no longer reports: the process is dead, frozen or cut off.`
      : `Others wait for ${describeRanks(ranks)}, which waits for no other rank: stuck in its own code, in loading data or on its GPU.`,
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
    message: `${capitalize(describeRanks(ranks))} skipped a collective in which the other ranks of its group wait, so all ranks wait in a circle. The program is at fault, not a node.`,
    confidence: 0.8,
    evidence: { cause: 'skippedCollective' },
    thenAction: 'stop',
  };
}

/** Too uncertain to end a gang: a host may be the only one of its group that waits for an operation in which all of them are. */
function nameCalledLess(missing: readonly Missing[]): Named {
  const ranks = missing.map(({ rank }) => rank);
  return {
    ...nameSkipped(missing),
    message: `All ranks wait in one operation. ${capitalize(describeRanks(ranks))} has called one collective fewer than the other ranks of its group and has probably skipped it. The program is at fault, not a node.`,
    confidence: 0.6,
    thenAction: 'advise',
  };
}

function nameUnlike({ group, odd, calls }: Extract<WalkOutcome, { kind: 'unlike' }>): Named {
  return {
    kind: 'desync',
    ranks: odd,
    group,
    message: `In group ${group}, ${describeRanks(odd)} called ${calls[1]} where the other ranks called ${calls[0]}. The program is at fault, not a node.`,
    confidence: 0.95,
    evidence: { cause: 'unlikeOperations', called: calls[1], othersCalled: calls[0] },
    thenAction: 'stop',
  };
}

/** Lists the nodes and blames none: one of them is faulty, or the network between them. */
function nameNetwork(group: string, gang: Gang): Named {
  const suspects = suspectNodes(group, gang);
  return {
    kind: 'networkHang',
    ranks: [],
    group,
    message: `All members of group ${group} have called one operation and none has completed it. The cause is the network between them, one of their NICs, or earlier work on a GPU. Test pairs of its nodes${formatNodes(suspects)}.`,
    confidence: 0.7,
    evidence: { cause: 'nobodyMissing', ...suspects },
    thenAction: 'advise',
  };
}

function formatNodes({ groupNodes, groupNodeNames }: ReturnType<typeof suspectNodes>): string {
  if (groupNodes === undefined) return '';
  return groupNodeNames === undefined ? `, on ${groupNodes} nodes` : `, on ${groupNodeNames}`;
}

/** How many nodes the group's members run on, and the node names if they are few. */
function suspectNodes(group: string, gang: Gang): Readonly<Record<string, number | string>> {
  const members = gang.groups.get(group)?.ranks ?? [];
  const nodes = [...new Set(members.flatMap((rank) => gang.nodeOf(rank) ?? []))];
  if (nodes.length === 0) return {};
  const names = nodes.join(', ');
  const areListed = nodes.length <= MAX_SUSPECT_NODES && names.length <= MAX_NAMES_CHARACTERS;
  return { groupNodes: nodes.length, ...(areListed ? { groupNodeNames: names } : {}) };
}
