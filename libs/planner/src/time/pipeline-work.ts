/** The passes of a pipeline with their times, and what its ranks hold: the inputs of a schedule simulation. */
import { microBatches, type RunFacts, type Schedule } from '../facts.ts';
import type { ScheduleInput } from '../schedule/schedule-input.ts';
import { isVShaped } from '../stages.ts';
import type { TimeConstants } from './constants.ts';
import { boundaryBytes } from './exchanged-bytes.ts';
import { groupsOf } from './groups.ts';
import { islandsOfRanks, relativeSpeedsOf, pricedIsland } from './islands.ts';
import { handOversS, handOverS } from './links.ts';
import { costOfKind, type BlockCosts, type StageCost, type StageInputs } from './stage-cost.ts';
import { stageKindsOf, type StageKinds } from './stage-kinds.ts';
import { dataTrafficS, heaviestRank, parametersPerLayer, type RankParameters } from './states.ts';

/** Times of the passes of one micro-batch, and what the ranks hold: nothing here depends on ZeRO stages below 3 or on offloaded optimizers. */
export interface PipelineWork {
  readonly schedule: Schedule;
  readonly stages: StageKinds;
  /** By kind of stage. */
  readonly costs: readonly StageCost[];
  /** By virtual stage. */
  readonly forwardS: Float64Array;
  readonly backwardInputS: Float64Array;
  readonly backwardWeightS: Float64Array;
  /** Seconds that the slowest rank computes, and its index. */
  readonly busyS: number;
  readonly slowestRank: number;
  /** Parameters on the rank that holds most. */
  readonly held: RankParameters;
  /** The same on each island whose network is another, or on several of them together. Absent: there is one network. */
  readonly heldIn?: readonly HeldInIslands[];
  /** Seconds per rank that computing gives transfers to hide behind. */
  readonly windows: { readonly forwardS: number; readonly backwardS: number };
}

interface HeldInIslands {
  readonly islands: readonly number[];
  readonly held: RankParameters;
}

/** The work of a run's pipeline. `hasParts` adds the breakdown by part. */
export function pipelineWorkOf(
  run: RunFacts,
  costs: BlockCosts,
  constants: TimeConstants,
  hasParts = true,
): PipelineWork {
  const { candidate, model } = run;
  const { pipeline } = candidate;
  const schedule = scheduleOf(candidate.schedule, pipeline, candidate.chunks);
  const stages = stageKindsOf(model, candidate);
  const inputs: StageInputs = {
    run,
    costs,
    constants,
    perLayer: parametersPerLayer(run),
    hasParts,
  };
  const stageCosts = stages.kinds.map((kind) => costOfKind(inputs, kind));
  const count = stages.kindOfStage.length;
  const numbers = new Float64Array(3 * (count + pipeline));
  const forwardS = numbers.subarray(0, count);
  const backwardInputS = numbers.subarray(count, 2 * count);
  const backwardWeightS = numbers.subarray(2 * count, 3 * count);
  const ranks = numbers.subarray(3 * count, 3 * (count + pipeline));
  const busyS = ranks.subarray(0, pipeline);
  const dense = ranks.subarray(pipeline, 2 * pipeline);
  const experts = ranks.subarray(2 * pipeline, 3 * pipeline);
  const isFolded = isVShaped(schedule);
  const { islands = [] } = run.cluster;
  const speeds = relativeSpeedsOf(run);
  let forwardSumS = 0;
  let backwardSumS = 0;
  for (let stage = 0; stage < count; stage++) {
    const cost = stageCosts[stages.kindOfStage[stage] ?? 0];
    if (cost === undefined) continue;
    const along = stage % pipeline;
    const rank = isFolded && stage >= pipeline ? pipeline - 1 - along : along;
    const speed = speeds[rank] ?? 1;
    const passesForwardS = (cost.forwardS + cost.offloadS) / speed;
    const passesBackwardS = (cost.backwardInputS + cost.offloadS) / speed;
    const weightS = cost.backwardWeightS / speed;
    forwardS[stage] = passesForwardS;
    backwardInputS[stage] = passesBackwardS;
    backwardWeightS[stage] = weightS;
    forwardSumS += passesForwardS;
    backwardSumS += passesBackwardS + weightS;
    busyS[rank] = (busyS[rank] ?? 0) + passesForwardS + passesBackwardS + weightS;
    dense[rank] = (dense[rank] ?? 0) + cost.dense;
    experts[rank] = (experts[rank] ?? 0) + cost.experts;
  }
  let slowestRank = 0;
  for (let rank = 1; rank < pipeline; rank++) if ((busyS[rank] ?? 0) > (busyS[slowestRank] ?? 0)) slowestRank = rank;
  return {
    schedule,
    stages,
    costs: stageCosts,
    forwardS,
    backwardInputS,
    backwardWeightS,
    busyS: busyS[slowestRank] ?? 0,
    slowestRank,
    held: heaviestRank({ dense, experts }),
    ...(islands.length < 2 ? {} : { heldIn: heldInIslands(run, { dense, experts }) }),
    windows: { forwardS: forwardSumS / pipeline, backwardS: backwardSumS / pipeline },
  };
}

/** Ranks that are in the same islands count together. */
function heldInIslands(
  run: RunFacts,
  { dense, experts }: { readonly dense: Float64Array; readonly experts: Float64Array },
): readonly HeldInIslands[] {
  const heaviest = new Map<string, HeldInIslands>();
  for (const [rank, islands] of islandsOfRanks(run).entries()) {
    const key = islands.join();
    const held = { dense: dense[rank] ?? 0, experts: experts[rank] ?? 0 };
    const before = heaviest.get(key)?.held ?? { dense: 0, experts: 0 };
    if (held.dense + held.experts > before.dense + before.experts) heaviest.set(key, { islands, held });
  }
  return [...heaviest.values()];
}

/** Seconds for gradients and weights on the slowest rank; each island moves the states of its stages over its own network. */
export function workTrafficS(
  run: RunFacts,
  { held, heldIn, windows }: Pick<PipelineWork, 'held' | 'heldIn' | 'windows'>,
  constants: TimeConstants,
): number {
  if (heldIn === undefined) return dataTrafficS(run, held, windows, constants);
  return Math.max(
    ...heldIn.map(({ islands, held: there }) => dataTrafficS(pricedIsland(run, islands), there, windows, constants)),
  );
}

/** Whole micro-batches per replica; a batch that does not divide is rounded up. */
export function microBatchesOf(run: RunFacts): number {
  return Math.max(1, Math.ceil(microBatches(run)));
}

/** What the schedule of a run is simulated from. */
export function scheduleInputOf(run: RunFacts, work: PipelineWork, constants: TimeConstants): ScheduleInput {
  const { schedule, forwardS, backwardInputS, backwardWeightS } = work;
  const { candidate } = run;
  const hops = hopsOf(run, work, constants);
  return {
    schedule,
    pipeline: candidate.pipeline,
    chunks: candidate.chunks,
    microBatches: microBatchesOf(run),
    forwardS,
    backwardInputS,
    backwardWeightS,
    forwardHopS: hops,
    backwardHopS: hops,
    p2p: p2pOf(schedule),
  };
}

/** The same passes in the order of another schedule that places stages on ranks alike. */
export function withSchedule(input: ScheduleInput, candidate: RunFacts['candidate']): ScheduleInput {
  const schedule = scheduleOf(candidate.schedule, candidate.pipeline, candidate.chunks);
  return schedule === input.schedule ? input : { ...input, schedule, p2p: p2pOf(schedule) };
}

function p2pOf(schedule: Schedule): ScheduleInput['p2p'] {
  return schedule === '1f1b' || schedule === 'gpipe' ? 'blocking' : 'overlapped';
}

/** Seconds from each virtual stage to the next. */
function hopsOf(
  run: RunFacts,
  { schedule, forwardS: { length: count } }: Pick<PipelineWork, 'schedule' | 'forwardS'>,
  constants: TimeConstants,
): Float64Array {
  const { cluster, candidate } = run;
  const group = groupsOf(candidate).pipeline;
  const bytes = boundaryBytes(run);
  const hops = new Float64Array(count);
  if ((cluster.islands ?? []).length < 2) return hops.fill(handOverS(cluster, group, bytes, constants));
  const { pipeline } = candidate;
  const rankLayouts = handOversS(cluster, { group, islandsOfRanks: islandsOfRanks(run) }, bytes, constants);
  for (let stage = 0; stage < count; stage++) {
    const along = stage % pipeline;
    // On the way back the ends of a hand-over are those of the way there.
    const isBack = isVShaped(schedule) && stage >= pipeline;
    hops[stage] = rankLayouts[isBack ? Math.max(0, pipeline - 2 - along) : along] ?? 0;
  }
  return hops;
}

/** Several chunks on plain 1F1B are the interleaved schedule; one chunk on the interleaved schedule is plain 1F1B. */
function scheduleOf(schedule: Schedule, pipeline: number, chunks: number): Schedule {
  if (pipeline === 1) return 'gpipe';
  if (schedule === '1f1b' && chunks > 1) return 'interleaved-1f1b';
  if (schedule === 'interleaved-1f1b' && chunks === 1) return '1f1b';
  return schedule;
}
