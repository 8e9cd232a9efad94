/**
 * What is a trace made of? One JSON object a line, the header first, then records in the order in which they arrived. The same records are what
 * the operator gives to detectors as they come.
 *
 * `atMs` is when the record arrived, by one clock that never goes back: that of who writes the trace. What ranks say of time are durations and ages,
 * each by its own clock, so that clocks of two machines are never compared.
 */
import { ProcessGroup, RankCollectives, RankTimings, RankWatermarks } from '@coxswain/api-types';
import { MAX_WORLD_SIZE, ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';

/** Most characters of a line; the longest is a header of 4,096 nodes with ranks that do not follow each other. */
export const MAX_TRACE_LINE_CHARACTERS = 1_048_576;
const MAX_NODES = 16_384;
const MAX_WORKS = 16;

const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const finite = z.number().min(-1e30).max(1e30);
const atMs = z.number().min(0).max(1e13);
const rank = z
  .int()
  .min(0)
  .max(MAX_WORLD_SIZE - 1);

/** Figures are text where they are not finite: JSON has no word for them. Null: nobody who told this record knows it. */
const figure = z.union([finite, z.enum(['NaN', 'Infinity', '-Infinity'])]).nullable();

export const TraceHeader = z.strictObject({
  kind: z.literal('header'),
  version: z.literal(1),
  job: z.string().max(253).describe('Said in no verdict; for people.').optional(),
  engine: z.string().max(64).optional(),
  layout: ParallelLayout,
  nodes: z
    .array(
      z.strictObject({
        node: z.string().min(1).max(253),
        ranks: z.string().max(96).describe('Global ranks as ranges: `0-7`.'),
      }),
    )
    .max(MAX_NODES)
    .describe('Which ranks run where. A rank that none holds has no node in its verdicts.'),
  reportEveryMs: z
    .number()
    .min(100)
    .max(7_200_000)
    .describe('How often a rank that lives is heard of at the latest, by watermark, heartbeat or step.'),
});
export type TraceHeader = z.infer<typeof TraceHeader>;

/** What a step had to do on a rank, where the engine knows; with it, unlike work is told from unlike speed. */
const RankWork = z.strictObject({
  rank,
  squaredTokens: z.number().min(0).max(1e18).optional().describe('Sum of squared sequence lengths of the step.'),
  expertTokens: z.number().min(0).max(1e15).optional().describe('Tokens that its experts were sent.'),
});

export type RankWork = z.infer<typeof RankWork>;

export const TraceRecord = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('group'), ...ProcessGroup.shape }),
  z.strictObject({
    kind: z.literal('step'),
    atMs,
    step: counter,
    loss: figure,
    gradNorm: figure,
    ranks: RankTimings.describe(
      'One or more ranks of a pod. Parts of `timingsMs` that are no compute have these names: communication (waiting for others included), data, saving, evaluation.',
    ),
    work: z.array(RankWork).max(MAX_WORKS).optional(),
  }),
  z.strictObject({ kind: z.literal('watermarks'), atMs, ranks: RankWatermarks }),
  z.strictObject({ kind: z.literal('collectives'), atMs, ranks: z.array(RankCollectives).max(MAX_WORKS) }),
  z.strictObject({
    kind: z.literal('heartbeat'),
    atMs,
    ranks: z.array(z.strictObject({ rank, step: counter.nullable() })).max(MAX_WORKS),
  }),
  /** Nothing but that time has gone on: it may be that nobody says anything any more. */
  z.strictObject({ kind: z.literal('tick'), atMs }),
]);
export type TraceRecord = z.infer<typeof TraceRecord>;
export type RecordOf<Kind extends TraceRecord['kind']> = Extract<TraceRecord, { kind: Kind }>;
