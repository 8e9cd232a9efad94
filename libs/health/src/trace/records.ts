/**
 * What does a trace contain? One JSON object per line, the header first, then records in the order in which they arrived. The operator passes the same
 * records to detectors as they arrive.
 *
 * `atMs` is the time of arrival on the writer's monotonic clock. Ranks report durations and ages, each by its own clock, so clocks of two machines are
 * never compared.
 */
import { ProcessGroup, RankCollectives, RankTimings, RankWatermarks } from '@coxswain/api-types';
import { MAX_WORLD_SIZE, ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';

/** Maximum characters of a line; the longest is a header of 4,096 nodes whose ranks are not contiguous. */
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

/** Figures that are not finite are text, because JSON has no form for them. Null if the ranks of this record do not know the figure. */
const figure = z.union([finite, z.enum(['NaN', 'Infinity', '-Infinity'])]).nullable();

/** The first line of a trace: layout, nodes and how often ranks report. */
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

/** Amount of work of a rank in a step, if the engine reports it. It separates unequal work from unequal speed. */
const RankWork = z.strictObject({
  rank,
  squaredTokens: z.number().min(0).max(1e18).optional().describe('Sum of squared sequence lengths of the step.'),
  expertTokens: z.number().min(0).max(1e15).optional().describe('Tokens that its experts were sent.'),
});

/** Amount of work of a rank in a step. */
export type RankWork = z.infer<typeof RankWork>;

/** Any line of a trace after the header. */
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
  /** Time has passed without another record; ranks may have stopped reporting. */
  z.strictObject({ kind: z.literal('tick'), atMs }),
]);
export type TraceRecord = z.infer<typeof TraceRecord>;
/** A record of one kind. */
export type RecordOf<Kind extends TraceRecord['kind']> = Extract<TraceRecord, { kind: Kind }>;
