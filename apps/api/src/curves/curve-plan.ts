import { LEVEL_WIDTHS } from './step-levels.ts';

/** Which steps of an attempt were recorded: from the first to the last. */
export interface EpochSteps {
  readonly epoch: number;
  readonly firstStep: number;
  readonly lastStep: number;
}

/** Steps of one epoch, both ends included. */
export interface Segment {
  readonly epoch: number;
  readonly fromStep: number;
  readonly toStep: number;
  /** Whether it begins, or ends, where the attempt itself does: then a bucket at that end holds nothing beyond it. */
  readonly isWholeAtBegin: boolean;
  readonly isWholeAtEnd: boolean;
}

/** Steps that are read together, from buckets of that width; 1: the steps themselves. */
export interface Piece {
  readonly epoch: number;
  readonly width: number;
  readonly fromStep: number;
  readonly toStep: number;
}

/** How a curve is read: what, and how many steps each of its points is to stand for. */
export interface CurvePlan {
  readonly group: number;
  readonly pieces: readonly Piece[];
}

/** Which part of a curve is asked for; without an epoch, what counts where epochs overlap. */
export interface CurveWindow {
  readonly epoch?: number | undefined;
  readonly fromStep: number;
  readonly toStep: number;
}

/**
 * What counts of each epoch, ascending. A later epoch begins after its checkpoint, and what an earlier one did from there on is undone. One epoch by
 * itself counts as a whole.
 */
export function segmentsOf(epochs: readonly EpochSteps[], window: CurveWindow): readonly Segment[] {
  const segments: Segment[] = [];
  let undoneFrom = Infinity;
  for (const { epoch, firstStep, lastStep } of [...epochs].sort((a, b) => b.epoch - a.epoch)) {
    if (window.epoch !== undefined && window.epoch !== epoch) continue;
    const end = Math.min(lastStep, undoneFrom - 1);
    undoneFrom = Math.min(undoneFrom, firstStep);
    const fromStep = Math.max(firstStep, window.fromStep);
    const toStep = Math.min(end, window.toStep);
    if (fromStep > toStep) continue;
    segments.push({
      epoch,
      fromStep,
      toStep,
      isWholeAtBegin: fromStep === firstStep,
      isWholeAtEnd: toStep === lastStep,
    });
  }
  return segments.reverse();
}

/**
 * How segments are read as at most `maxPoints` points, from the coarsest level that is fine enough. A bucket that reaches over the end of its segment is
 * made of finer buckets. `finest` is the narrowest width that is still kept. If that width is a level, its buckets are used unchanged.
 */
export function planCurve(
  segments: readonly Segment[],
  options: { readonly maxPoints: number; readonly finest: number },
): CurvePlan {
  const { maxPoints, finest } = options;
  // Each segment is one point at least: of more than there is room for, the newest are shown.
  const shown = segments.slice(-maxPoints);
  let group = finest;
  while (pointsOf(shown, group) > maxPoints) group = coarser(group, shown, maxPoints);
  const width = levelFor(group, finest);
  return { group, pieces: shown.flatMap((segment) => piecesOf(segment, width, finest)) };
}

function pointsOf(segments: readonly Segment[], group: number): number {
  return segments.reduce(
    (sum, { fromStep, toStep }) => sum + Math.floor(toStep / group) - Math.floor(fromStep / group) + 1,
    0,
  );
}

/** The next group to try: what the number of points asks for, a whole number of buckets of its level. */
function coarser(group: number, segments: readonly Segment[], maxPoints: number): number {
  const wanted = Math.max(group + 1, Math.floor((group * pointsOf(segments, group)) / (maxPoints * 1.1)));
  const width = levelFor(wanted, 1);
  return Math.ceil(wanted / width) * width;
}

function levelFor(group: number, finest: number): number {
  return Math.max(finest, ...LEVEL_WIDTHS.filter((width) => width <= group));
}

/** An end that is no whole bucket is made of the next finer ones, and so on: fewer than ten of each width, however many segments restarts made. */
function piecesOf(segment: Segment, width: number, finest: number): readonly Piece[] {
  const { epoch, fromStep, toStep } = segment;
  if (width === finest) return [{ epoch, width, fromStep, toStep }];
  const begin = (segment.isWholeAtBegin ? Math.floor(fromStep / width) : Math.ceil(fromStep / width)) * width;
  const end = Math.floor((toStep + 1) / width + (segment.isWholeAtEnd ? 1 : 0)) * width;
  const finer = levelFor(width - 1, finest);
  if (begin >= end) return piecesOf(segment, finer, finest);
  const part = { epoch, isWholeAtBegin: false, isWholeAtEnd: false };
  const [left, right] = [
    { ...part, fromStep, toStep: begin - 1 },
    { ...part, fromStep: end, toStep },
  ];
  return [
    ...(fromStep < begin ? piecesOf(left, finer, finest) : []),
    { epoch, width, fromStep: Math.max(begin, fromStep), toStep: Math.min(end - 1, toStep) },
    ...(toStep >= end ? piecesOf(right, finer, finest) : []),
  ];
}
