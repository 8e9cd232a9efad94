/** Paints on a plot what the plotting library does not. */
import type uPlot from 'uplot';

/** A place to mark with a dashed line, e.g. where a restart began. */
export interface CurveMark {
  readonly x: number;
  readonly label: string;
  /** Absent: that of the axis. */
  readonly color?: string;
}

/** Two labels nearer than this would be unreadable; the later one is left out, its line is not. */
const LABEL_PX = 54;

/** A little room above and below; a flat line is in the middle. */
export function paddedRange(low: number | null, high: number | null): uPlot.Range.MinMax {
  if (low === null || high === null) return [0, 1];
  const room = low === high ? Math.abs(low) * 0.1 || 1 : (high - low) * 0.05;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

/** A dashed line for each mark in sight, with its label at the top. */
export function drawMarks(
  plot: Pick<uPlot, 'ctx' | 'bbox' | 'valToPos'>,
  marks: readonly CurveMark[],
  ink: string,
): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  let labelledX = -Infinity;
  for (const { x: at, label, color = ink } of marks) {
    const x = plot.valToPos(at, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = color;
    ctx.fillStyle = color;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (x - labelledX < LABEL_PX * devicePixelRatio) continue;
    labelledX = x;
    const isAtEdge = x + LABEL_PX * devicePixelRatio > bbox.left + bbox.width;
    ctx.textAlign = isAtEdge ? 'right' : 'left';
    ctx.fillText(label, x + (isAtEdge ? -4 : 4) * devicePixelRatio, bbox.top + 12 * devicePixelRatio);
  }
  ctx.restore();
}
