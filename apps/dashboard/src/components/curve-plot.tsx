import { useEffect, useRef, type ReactNode } from 'react';
import uPlot from 'uplot';
import { useColorScheme } from '../color-scheme.ts';
import { drawMarks, paddedRange, type CurveMark } from '../job/curve-painting.ts';

interface CurvePlotProps {
  readonly title: string;
  /** Steps, ascending, and of each a value, and the least and the greatest of the steps for which it stands. */
  readonly data: [number[], ...(number | null)[][]];
  /** CSS variable of the line. */
  readonly color: string;
  /** Whether the axis begins at zero: so that a little noise looks like a little. */
  readonly fromZero?: boolean;
  /** For the axis and the value under the pointer. */
  readonly format: (value: number) => string;
  readonly marks: readonly CurveMark[];
}

const HEIGHT_PX = 220;
/** Has no line and no place in the legend; the space between two is filled. */
const RANGE_EDGE: uPlot.Series = { class: 'range-edge', width: 0, points: { show: false } };

/** One series over steps; follows the width of its box. Dragging zooms, a double click shows all again. */
export function CurvePlot({ title, data, color, fromZero = false, format, marks }: CurvePlotProps): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef({ marks, data });
  latest.current = { marks, data };
  const isZoomed = useRef(false);
  const scheme = useColorScheme();
  const isEmpty = data[0].length === 0;

  useEffect(() => {
    const element = box.current;
    if (element === null || isEmpty) return undefined;
    const style = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
    const ink = style('--muted');
    const axis: uPlot.Axis = {
      stroke: ink,
      font: '12px system-ui, sans-serif',
      grid: { stroke: style('--line'), width: 1 },
      ticks: { stroke: style('--line'), width: 1 },
    };
    const created = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT_PX,
        scales: { x: { time: false }, y: { range: (_plot, low, high) => paddedRange(fromZero ? 0 : low, high) } },
        cursor: { drag: { x: true, y: false } },
        axes: [
          {
            ...axis,
            values: (_plot, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? tick.toLocaleString('en') : '')),
          },
          { ...axis, size: 68, values: (_plot, ticks) => ticks.map(format) },
        ],
        series: [
          { label: 'step', value: (_plot, step) => step?.toLocaleString('en') ?? '–' },
          {
            label: title,
            stroke: style(color),
            width: 2,
            points: { show: latest.current.data[0].length < 3 },
            value: (_plot, value) => (value === null || value === undefined ? '–' : format(value)),
          },
          // Between them lies what single steps did; a spike of one is seen, however many steps a point stands for.
          { ...RANGE_EDGE, label: 'least' },
          { ...RANGE_EDGE, label: 'greatest' },
        ],
        bands: [{ series: [3, 2], fill: `color-mix(in srgb, ${style(color)} 30%, transparent)` }],
        hooks: {
          draw: [(drawn) => drawMarks(drawn, latest.current.marks, ink)],
          setSelect: [(drawn) => (isZoomed.current = drawn.select.width > 0)],
        },
      },
      latest.current.data,
      element,
    );
    plot.current = created;
    isZoomed.current = false;
    const showAll = (): void => {
      isZoomed.current = false;
      created.setData(latest.current.data);
    };
    created.over.addEventListener('dblclick', showAll);
    const resize = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      created.destroy();
      plot.current = undefined;
    };
  }, [title, color, fromZero, format, scheme, isEmpty]);

  useEffect(() => {
    // New points must not undo a zoom.
    plot.current?.setData(data, !isZoomed.current);
    if (isZoomed.current) plot.current?.redraw();
  }, [data]);

  return (
    <figure className="panel plot">
      <figcaption>{title}</figcaption>
      {isEmpty ? (
        <p className="empty no-curve">Nothing measured yet</p>
      ) : (
        <div ref={box} title="Drag to zoom, double-click to see all" />
      )}
    </figure>
  );
}
