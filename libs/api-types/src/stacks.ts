/** Current stack traces of a job's ranks, and the ranks without one. */
import { z } from 'zod';
import { RANK_RANGES } from './rank-ranges.ts';
import { counter, timestamp } from './status-fields.ts';

/** Of one thread; further out it is cut. */
export const MAX_STACK_FRAMES = 64;
/** Longest frame of a stack, in characters. */
export const MAX_FRAME_CHARACTERS = 256;
/** Longest name of a thread, in characters. */
export const MAX_THREAD_NAME_CHARACTERS = 64;
/** How long a rank may take to answer. */
export const STACKS_WITHIN_MS = 5_000;
/** Stacks of all ranks of a pod; each stack once. */
export const MAX_STACKS_OF_POD = 256;

/** Why there is no stack of a rank, with what a person makes of it. */
export const RANK_SILENCES = {
  noAnswer: 'it did not answer in time: its process is stopped, or holds the interpreter (the GIL) in C code',
  stopped: 'its process is stopped by a signal (state T)',
  uninterruptible:
    'its process waits in the kernel and cannot be interrupted (state D): a file server or a device does not answer',
  noHook:
    'no hook speaks for it: it has neither joined a process group nor taken a step yet, or runs without the hook (python -I or -S, no PyTorch)',
  olderHook:
    'it did not answer: its engine contains an older coxswain_agent, which may not support stack requests, so the missing answer proves nothing',
  notRunning: 'its process is not running',
  notConnected: 'the launcher of its pod is not connected',
  launcherSilent:
    'the launcher of its pod did not answer: it is of a release that knows no stacks, or has no processor',
} as const satisfies Record<string, string>;
/** Reason for a missing stack. */
export type RankSilence = keyof typeof RANK_SILENCES;

const silences = Object.keys(RANK_SILENCES) as [RankSilence, ...RankSilence[]];

/** One thread of a process. Functions, files and lines: no value, no argument, no line of source. */
export const ThreadStack = z.object({
  thread: z.string().max(MAX_THREAD_NAME_CHARACTERS).describe('Its name, as the program gave it.'),
  isMain: z.boolean().describe('Whether the program began with it.'),
  frames: z
    .array(z.string().max(MAX_FRAME_CHARACTERS))
    .max(MAX_STACK_FRAMES)
    .describe('Innermost first: `function (file:line)`.'),
  isCut: z.boolean().optional().describe('Whether functions further out are left out.'),
});
export type ThreadStack = z.infer<typeof ThreadStack>;

const ranksOf = (most: number): z.ZodString => z.string().max(most).regex(RANK_RANGES);
/** Of a pod: 16 ranks of five digits, each by itself. */
const podRanks = ranksOf(96);

/** What the ranks of one pod answered: each stack once, with the ranks that have it. */
export const PodStacks = z.strictObject({
  request: counter.describe('Which one is answered.'),
  groups: z.array(z.strictObject({ ...ThreadStack.shape, ranks: podRanks })).max(MAX_STACKS_OF_POD),
  silent: z.array(z.strictObject({ ranks: podRanks, why: z.enum(silences) })).max(silences.length),
  leftOut: podRanks.describe('Ranks whose stacks are incomplete because there was no room for them.'),
});
export type PodStacks = z.infer<typeof PodStacks>;

const ranks = z.string().describe('Global ranks as ranges: `0-3,8`.');

/** Ranks with equal stacks, and that stack. */
export const StackGroup = ThreadStack.extend({
  ranks,
  rankCount: counter.min(1),
}).meta({ id: 'StackGroup' });
export type StackGroup = z.infer<typeof StackGroup>;

/** Ranks without a stack, and the reason. */
export const SilentRanks = z
  .object({ ranks, why: z.enum(silences), node: z.string().optional().describe('Where all of them are on one.') })
  .meta({ id: 'SilentRanks' });
export type SilentRanks = z.infer<typeof SilentRanks>;

/** What is answered to who asks for the stacks of a job. */
export const JobStacks = z
  .object({
    takenAt: timestamp,
    epoch: counter,
    rankCount: counter.describe('Ranks that were asked.'),
    groups: z
      .array(StackGroup)
      .describe('Equal stacks together: first threads of programs, then others; of each the most frequent first.'),
    silent: z.array(SilentRanks).describe('Ranks without a stack, and why.'),
    leftOut: ranks.describe(
      'Ranks whose stacks are incomplete because the answer would be too long. To read one of them, request that rank alone. Empty: none.',
    ),
  })
  .meta({ id: 'JobStacks' });
export type JobStacks = z.infer<typeof JobStacks>;

/** `Rank 5 on node gpu-b: its process is stopped by a signal (state T)` */
export function silenceWords({ ranks, why, node }: SilentRanks): string {
  const who = /^\d+$/.test(ranks) ? `Rank ${ranks}` : `Ranks ${ranks}`;
  // A newer server can have reasons that this release does not know.
  const reason = Object.hasOwn(RANK_SILENCES, why) ? RANK_SILENCES[why] : why;
  return `${who}${node === undefined ? '' : ` on node ${node}`}: ${reason}`;
}

/** `ranks 0-4 (5 of 8), thread loader`: whose stack it is, of so many that were asked. */
export function stackHolders({ ranks, rankCount, thread, isMain }: StackGroup, of: number): string {
  const who = `${rankCount === 1 ? 'rank' : 'ranks'} ${ranks}`;
  return `${who}${of === 1 ? '' : ` (${rankCount} of ${of})`}${isMain ? '' : `, thread ${thread}`}`;
}
