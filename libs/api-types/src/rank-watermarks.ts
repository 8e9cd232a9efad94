/** How far has each rank come in each process group, and what is it doing? From here it is seen whom the others wait for. */
import { z } from 'zod';
import { MAX_RANKS_PER_POD } from './pod-size.ts';
import { durationMs, rank } from './rank-timings.ts';

const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const MAX_GROUPS_PER_RANK = 32;

/**
 * What a rank is doing. Only `training` is held to the pace of steps; each other phase has a limit of its own. starting: until the first step begins,
 * restoring included. compiling: if the hook detects it. ended: the rank has nothing more to do, and waits in no group.
 */
export const RANK_PHASES = ['starting', 'compiling', 'training', 'evaluating', 'saving', 'ended'] as const;

/** Same on all members of a group, and of no other group of the job; with PyTorch the group's own name (`group_name`), such as `12`. */
const groupId = z.string().min(1).max(64);
/** As PyTorch's flight recorder calls them: `all_reduce`, `all_gather`, `reduce_scatter`, `broadcast`, `all_to_all`, `send`, `recv`, `barrier`, ... */
const operation = z.string().min(1).max(32);

/** Where a rank is in one process group. Operations of a group count from 1, in the order in which the rank calls them. */
export const GroupWatermark = z.strictObject({
  group: groupId,
  operation: operation.describe('Of the oldest operation that is not complete; where all are, of the last one.'),
  bytes: counter.describe('Of that operation: what this rank gives.'),
  enqueued: counter.describe('Number of the last operation that the program has called.'),
  started: counter.describe(
    'Number of the last operation that started on the device. Equal to enqueued if that is not observable.',
  ),
  completed: counter.describe('Of the last up to which all are complete.'),
  ageMs: durationMs.describe(
    'Time since one of the three last changed, by the clock of the rank, when it was reported.',
  ),
});
export type GroupWatermark = z.infer<typeof GroupWatermark>;

/** Progress of one rank, reported about once a second. Ages instead of times, because clocks of two ranks are never compared. */
export const RankWatermark = z.strictObject({
  rank,
  step: counter.nullable().describe('Last that is complete; null before the first.'),
  phase: z.enum(RANK_PHASES),
  phaseAgeMs: durationMs.describe('Since the phase began or, in training, since the last step was complete.'),
  groups: z.array(GroupWatermark).max(MAX_GROUPS_PER_RANK),
});
export type RankWatermark = z.infer<typeof RankWatermark>;
/** Watermarks of the ranks of a pod. */
export const RankWatermarks = z.array(RankWatermark).max(MAX_RANKS_PER_POD);

/** What a rank spent in one kind of operation of one group, over some seconds. */
const CollectiveTiming = z.strictObject({
  group: groupId,
  operation,
  bytes: counter,
  count: z.int().min(1).max(1_000_000).describe('Operations that these figures are of.'),
  medianMs: durationMs.describe('Inside the operation, waiting for other members included.'),
  maxMs: durationMs,
});

/** Time that a rank spent in collectives over some seconds, by process group. */
export const RankCollectives = z.strictObject({ rank, groups: z.array(CollectiveTiming).max(MAX_GROUPS_PER_RANK) });
export type RankCollectives = z.infer<typeof RankCollectives>;

const MAX_RANK_SET_CHARACTERS = 8192;
/** Ranks, ranges and ranges with a stride: `0-7`, `0,8,17`, `0-56/8` for 0, 8, ..., 56. */
export const RANK_SET = /^\d{1,5}(-\d{1,5}(\/\d{1,5})?)?(,\d{1,5}(-\d{1,5}(\/\d{1,5})?)?)*$/;

/** A process group. Any member reports it once, before a watermark names it. */
export const ProcessGroup = z.strictObject({
  group: groupId,
  name: z
    .string()
    .max(64)
    .describe(
      'What it is for: groups of one name do the same work side by side and are compared. `tensor`, `dp_shard`.',
    ),
  ranks: z.string().max(MAX_RANK_SET_CHARACTERS).regex(RANK_SET).describe('Global ranks: `0-7`, `0-56/8`.'),
});
export type ProcessGroup = z.infer<typeof ProcessGroup>;
