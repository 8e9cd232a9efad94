/** Turns findings that lasted into verdicts. */
import type { Gang } from '../gang/gang.ts';
import type { HealthSettings } from '../settings.ts';
import { capitalize, describeRanks, type VerdictDraft } from '../verdict/verdict.ts';
import type { ComputeFindings } from './compute-window.ts';
import type { DataWait } from './data-wait.ts';
import { sharedBy, type SlowGroup } from './links.ts';
import type { Slow } from './outliers.ts';
import { median } from './robust.ts';
import { percent } from './slow-job.ts';

/** Reasons to doubt that a slow rank is itself the cause. */
export interface Doubts {
  /** Ranks report no parts of their steps, so their times contain waiting. */
  readonly waitingIsIn: boolean;
  /** The rank's experts may have more tokens than others. */
  readonly mayBeExpert: boolean;
  /** The GPU was idle for most of the excess without waiting for other ranks: data loading, logging or the CPU. */
  readonly mayBeHost: (slow: Slow) => boolean;
}

/** Time and gang of the verdict, the time lost so far, and whether that is enough to act. */
export interface SlowRankContext extends Doubts {
  readonly gang: Gang;
  readonly atMs: number;
  readonly lostMs: (rank: number) => number;
  readonly isDue: boolean;
}

/** One verdict for each node with ranks that are slower than their peers. */
export function formatSlowRanks(
  due: readonly number[],
  found: ReadonlyMap<number, Slow>,
  { gang, atMs, lostMs, isDue, ...doubts }: SlowRankContext,
): VerdictDraft[] {
  const nodes = Map.groupBy(due, (rank) => gang.nodeOf(rank) ?? `rank ${rank}`);
  return [...nodes.values()].map((ranks): VerdictDraft => {
    const worst = ranks.flatMap((rank) => found.get(rank) ?? []).sort((a, b) => b.z - a.z)[0];
    const doubt = worst === undefined ? '' : doubtOf(worst, doubts);
    const excess = worst === undefined ? 0 : worst.computeMs / worst.usualMs - 1;
    const lost = Math.round(worst === undefined ? 0 : lostMs(worst.rank));
    const cost = isDue ? ` This has cost ${Math.round(lost / 1000)} s, as much as a restart.` : '';
    return {
      kind: 'slowRank',
      atMs,
      ranks,
      message: `${capitalize(describeRanks(ranks))} compute${ranks.length === 1 ? 's' : ''} ${percent(excess)} longer than ranks with the same work.${doubt}${cost}`,
      evidence: {
        computeMs: round(worst?.computeMs ?? 0),
        usualMs: round(worst?.usualMs ?? 0),
        slowdown: round(excess),
        z: Math.round(10 * (worst?.z ?? 0)) / 10,
        timeLostMs: lost,
      },
      confidence: doubt === '' ? 0.9 : 0.5,
      action: isDue && doubt === '' ? 'evict' : 'advise',
    };
  });
}

function doubtOf(slow: Slow, { mayBeExpert, waitingIsIn, mayBeHost }: Doubts): string {
  if (mayBeExpert) return ' Its experts may receive more tokens than others; report expertTokens to be sure.';
  if (waitingIsIn) return ' Its steps are reported without parts, so this may include waiting for other ranks.';
  if (mayBeHost(slow)) {
    return ' Its GPU was idle for most of that time and waited for no other rank: check data loading, logging, its CPU, and work that the program runs on this rank alone.';
  }
  return '';
}

/** One verdict for all groups whose transfers are slower than those of their peers. */
export function formatSlowLinks(
  due: readonly string[],
  found: ReadonlyMap<string, SlowGroup>,
  gang: Gang,
  atMs: number,
): VerdictDraft[] {
  const groups = due.flatMap((group) => found.get(group) ?? []);
  const [first] = groups;
  if (first === undefined) return [];
  const shared = sharedBy(
    groups.map(({ group }) => group),
    gang,
  );
  const one = groups.length > 1 && shared.length === 1;
  const pair = shared.length === 2;
  return [
    {
      kind: 'slowLink',
      atMs,
      ranks: one || pair ? shared : [],
      group: first.group,
      message: one
        ? `${groups.length} groups take longer than their peers for the same operation and share ${describeRanks(shared)}: check its NIC and cable.`
        : pair
          ? `Transfers between ${describeRanks(shared)} take longer than between their peers.`
          : `${groups.length === 1 ? 'A group takes' : `${groups.length} groups take`} longer than their peers for the same operation; test pairs of members to find the one at fault.`,
      evidence: {
        slowGroups: groups.length,
        transferMs: round(first.transferMs),
        usualMs: round(first.usualMs),
        slowdown: round(first.transferMs / first.usualMs - 1),
      },
      confidence: one ? 0.8 : pair ? 0.7 : 0.5,
      action: 'advise',
    },
  ];
}

/** A verdict for ranks that wait for data. */
export function formatDataStalls(due: readonly number[], data: DataWait, gang: Gang, atMs: number): VerdictDraft[] {
  if (due.length === 0) return [];
  const shared = data.where === 'shared';
  return [
    {
      kind: shared ? 'sharedDataStall' : 'hostDataStall',
      atMs,
      ranks: shared ? [] : due,
      message: shared
        ? `${data.waiting.length} of ${data.loading} ranks that load data wait for it at the same time: check the storage that they share, not their hosts.`
        : `${capitalize(describeRanks(due))} wait for data while other ranks do not: check their host.`,
      evidence: { waitingRanks: data.waiting.length, ofRanks: data.loading },
      confidence: data.where === 'neither' ? 0.5 : 0.85,
      action: 'advise',
    },
  ];
}

/** Verdicts about how the work is divided. They name no rank. */
export function formatWholeJob(found: ComputeFindings, { slow }: HealthSettings, atMs: number): VerdictDraft[] {
  const draft = { atMs, ranks: [], action: 'advise' } as const;
  const drafts: VerdictDraft[] = [];
  const stages = found.stagesMs.filter((ms) => !Number.isNaN(ms));
  const mean = stages.reduce((sum, ms) => sum + ms, 0) / Math.max(1, stages.length);
  const longest = Math.max(0, ...stages);
  if (stages.length > 1 && longest >= (1 + slow.jobExcess) * mean) {
    const stage = found.stagesMs.indexOf(longest);
    drafts.push({
      ...draft,
      kind: 'stageImbalance',
      message: `Pipeline stage ${stage} computes ${percent(longest / mean - 1)} longer than the average stage: give it fewer layers. No rank is slow.`,
      evidence: { stage, stageMs: Math.round(longest), meanMs: Math.round(mean), medianMs: Math.round(median(stages)) },
      confidence: 0.9,
    });
  }
  if (found.hotExperts.length > 0) {
    drafts.push({
      ...draft,
      kind: 'expertImbalance',
      message: `Ranks of expert group${found.hotExperts.length === 1 ? '' : 's'} ${found.hotExperts.slice(0, 8).join(', ')} compute longer on all their copies: tokens are distributed unevenly. Balance the experts or place them differently; no rank is slow.`,
      evidence: { expertGroups: found.hotExperts.length, explainedByTokens: round(found.explained.expertTokens ?? 0) },
      confidence: (found.explained.expertTokens ?? 0) >= slow.explained ? 0.9 : 0.7,
    });
  }
  const uneven = formatUneven(found, slow, atMs);
  if (uneven !== undefined) drafts.push(uneven);
  return drafts;
}

/** A verdict for work that changes from step to step. */
function formatUneven(found: ComputeFindings, slow: HealthSettings['slow'], atMs: number): VerdictDraft | undefined {
  const { share, common } = found.unlevel;
  const byTokens = (found.explained.expertTokens ?? 0) >= slow.explained;
  const byLengths = (found.explained.squaredTokens ?? 0) >= slow.explained;
  // Ranks with the same samples do not vary together: the cause is noise, not work.
  const isNoise = common !== undefined && common < slow.explained;
  if (share < slow.jobExcess || byTokens || (isNoise && !byLengths)) return undefined;
  const draft = { atMs, ranks: [], action: 'advise' } as const;
  const evidence = {
    unlevel: round(share),
    explainedByLengths: round(found.explained.squaredTokens ?? 0),
    ...(common === undefined ? {} : { commonToSamples: round(common) }),
  };
  if (byLengths) {
    return {
      ...draft,
      kind: 'sequenceImbalance',
      message: `Compute time follows the squared lengths of a rank's sequences: distribute samples so that the sums of squares are equal. No rank is slow.`,
      evidence,
      confidence: 0.9,
    };
  }
  const also = found.hasExperts ? ', or experts that receive different numbers of tokens' : '';
  return {
    ...draft,
    kind: found.hasExperts ? 'expertImbalance' : 'sequenceImbalance',
    message: `Compute time of each rank changes from step to step, and no rank is slow for long: most likely sequences of different lengths${also}. Report squaredTokens${found.hasExperts ? ' and expertTokens' : ''} to be sure.`,
    evidence,
    confidence: common === undefined ? 0.4 : 0.6,
  };
}

/** A verdict for garbage collection that runs on each rank at a different step. */
export function formatCollectionPauses(
  paused: { readonly ranks: number; readonly everySteps: number; readonly pauseMs: number },
  gang: Gang,
  atMs: number,
): VerdictDraft {
  return {
    kind: 'collectionPauses',
    atMs,
    ranks: [],
    message: `${paused.ranks} of ${gang.ranks} ranks pause for ${Math.round(paused.pauseMs)} ms every ${paused.everySteps} steps, each at a different step: run garbage collection on all ranks in the same step. No rank is slow.`,
    evidence: { pausingRanks: paused.ranks, everySteps: paused.everySteps, pauseMs: Math.round(paused.pauseMs) },
    confidence: 0.8,
    action: 'advise',
  };
}

function round(share: number): number {
  return Math.round(1000 * share) / 1000;
}
