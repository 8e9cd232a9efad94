import { useEffect, useRef, type ReactNode } from 'react';
import uPlot from 'uplot';

interface CurvePlotProps {
  readonly title: string;
  /** Steps, ascending, and a value each. */
  readonly data: [number[], (number | null)[]];
  readonly color: string;
  readonly format: (value: number) => string;
  /** Steps to mark with a dashed line, e.g. where a restart began. */
  readonly marks: readonly { readonly step: number; readonly label: string }[];
}

const HEIGHT_PX = 220;

/** One series over steps; follows the width of its box. */
export function CurvePlot({ title, data, color, format, marks }: CurvePlotProps): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latestMarks = useRef(marks);
  latestMarks.current = marks;

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const ink = getComputedStyle(element).getPropertyValue('--muted').trim();
    const grid = getComputedStyle(element).getPropertyValue('--line').trim();
    const axis: uPlot.Axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
    const created = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT_PX,
        scales: { x: { time: false } },
        legend: { live: true },
        cursor: { drag: { x: true, y: false } },
        axes: [
          { ...axis, values: (_plot, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? String(tick) : '')) },
          { ...axis, size: 62, values: (_plot, ticks) => ticks.map(format) },
        ],
        series: [
          { label: 'step' },
          {
            label: title,
            stroke: color,
            width: 2,
            points: { show: false },
            value: (_plot, value) => (value === null ? '–' : format(value)),
          },
        ],
        hooks: { draw: [(drawn) => drawMarks(drawn, latestMarks.current, ink)] },
      },
      [[], []],
      element,
    );
    plot.current = created;
    const resize = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      created.destroy();
    };
  }, [title, color, format]);

  useEffect(() => plot.current?.setData(data), [data]);

  return (
    <figure className="panel plot">
      <figcaption>{title}</figcaption>
      <div ref={box} />
      {data[0].length === 0 && <p className="empty over">Nothing measured yet</p>}
    </figure>
  );
}

function drawMarks(plot: uPlot, marks: CurvePlotProps['marks'], ink: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = ink;
  ctx.fillStyle = ink;
  ctx.setLineDash([4, 4]);
  ctx.font = `${11 * devicePixelRatio}px sans-serif`;
  for (const { step, label } of marks) {
    const x = plot.valToPos(step, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(label, x + 4, bbox.top + 12 * devicePixelRatio);
  }
  ctx.restore();
}
