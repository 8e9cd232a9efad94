import { useEffect, useRef, type ReactNode } from 'react';
import uPlot from 'uplot';
import { useColorScheme } from '../color-scheme.ts';
import { drawMarks, paddedRange, type CurveMark } from '../job/curve-painting.ts';
import { nearestIndex } from '../job/nearest-index.ts';
import { positiveOnly, type RunSeries } from '../job/run-series.ts';

/** A series of a run, as a line. */
export interface PlottedRun extends RunSeries {
  readonly name: string;
  /** CSS variable of the line. */
  readonly color: string;
}

/** What lies below the lines. `format` writes a position as people read it. */
export interface PlotAxis {
  readonly label: string;
  readonly format: (x: number) => string;
}

interface CurvePlotProps {
  readonly title: string;
  readonly runs: readonly PlottedRun[];
  readonly axis: PlotAxis;
  readonly isLogarithmic?: boolean;
  /** Whether the axis begins at zero: so that a little noise looks like a little. */
  readonly fromZero?: boolean;
  /** For the axis and the value under the pointer. */
  readonly format: (value: number) => string;
  /** `color`: a CSS variable. */
  readonly marks: readonly CurveMark[];
}

const HEIGHT_PX = 220;
/** Has no line and no place in the legend; the space between two is filled. */
const RANGE_EDGE: uPlot.Series = { class: 'range-edge', width: 0, points: { show: false } };
const RAW_LINE: uPlot.Series = { class: 'range-edge', width: 1, points: { show: false } };
/** uPlot's number for it. */
const LOGARITHMIC = 3;

/** One series of one or several runs; follows the width of its box. Dragging zooms, a double click shows all again. */
export function CurvePlot(props: CurvePlotProps): ReactNode {
  const { title, runs, axis, isLogarithmic = false, fromZero = false, format, marks } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const data = tableOf(runs, isLogarithmic);
  const latest = useRef({ marks, data, runs });
  latest.current = { marks, data, runs };
  const isZoomed = useRef(false);
  const scheme = useColorScheme();
  const isEmpty = runs.every(({ x }) => x.length === 0);
  // What decides how lines look; their points come by setData.
  const lines = JSON.stringify(runs.map(({ name, color, raw }) => [name, color, raw !== undefined]));

  useEffect(() => {
    const element = box.current;
    if (element === null || isEmpty) return undefined;
    const style = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
    const ink = style('--muted');
    const axisStyle: uPlot.Axis = {
      stroke: ink,
      font: '12px system-ui, sans-serif',
      grid: { stroke: style('--line'), width: 1 },
      ticks: { stroke: style('--line'), width: 1 },
    };
    const drawn = latest.current.runs;
    const y: uPlot.Scale = isLogarithmic
      ? { distr: LOGARITHMIC }
      : { range: (_plot, low, high) => paddedRange(fromZero ? 0 : low, high) };
    const created = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT_PX,
        scales: { x: { time: false }, y },
        cursor: {
          drag: { x: true, y: false },
          // Runs have points at other places than the one under the pointer.
          dataIdx: (shown, series, index) => nearestIndex(shown.data[series] ?? [], index),
        },
        axes: [
          { ...axisStyle, values: (_plot, ticks) => ticks.map(axis.format) },
          {
            ...axisStyle,
            size: 68,
            values: (_plot, ticks) => ticks.map((tick) => (tick === null ? '' : format(tick))),
          },
        ],
        series: [
          { label: axis.label, value: (_plot, x) => (x === null || x === undefined ? '–' : axis.format(x)) },
          ...drawn.flatMap((run) => seriesOptions(run, { title, isAlone: drawn.length === 1, format, style })),
        ],
        // Between them lies what single steps did; a spike of one is seen, however many steps a point stands for.
        bands:
          drawn.length === 1 && drawn[0]?.raw === undefined
            ? [{ series: [3, 2], fill: `color-mix(in srgb, ${style(drawn[0]?.color ?? '--muted')} 30%, transparent)` }]
            : [],
        hooks: {
          draw: [
            (painted) =>
              drawMarks(
                painted,
                latest.current.marks.map((mark) =>
                  mark.color === undefined ? mark : { ...mark, color: style(mark.color) },
                ),
                ink,
              ),
          ],
          setSelect: [(painted) => (isZoomed.current = painted.select.width > 0)],
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
  }, [title, lines, axis, isLogarithmic, fromZero, format, scheme, isEmpty]);

  useEffect(() => {
    // New points must not undo a zoom.
    plot.current?.setData(latest.current.data, !isZoomed.current);
    if (isZoomed.current) plot.current?.redraw();
  }, [runs, isLogarithmic]);

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

/** Columns as {@link seriesOptions} lists them, after x. Runs with other positions get holes that lines cross. */
function tableOf(runs: readonly PlottedRun[], isLogarithmic: boolean): uPlot.AlignedData {
  const shown = (values: readonly (number | null)[]): (number | null)[] => [
    ...(isLogarithmic ? positiveOnly(values) : values),
  ];
  const tables = runs.map(({ x, value, raw, range }): uPlot.AlignedData => [
    [...x],
    shown(value),
    ...(raw === undefined ? (runs.length === 1 ? range.map(shown) : []) : [shown(raw)]),
  ]);
  const [first = [[]]] = tables;
  return tables.length > 1 ? uPlot.join(tables) : first;
}

function seriesOptions(
  { name, color, raw, x }: PlottedRun,
  drawing: {
    readonly title: string;
    readonly isAlone: boolean;
    readonly format: (value: number) => string;
    readonly style: (name: string) => string;
  },
): readonly uPlot.Series[] {
  const { title, isAlone, format, style } = drawing;
  const stroke = style(color);
  const line: uPlot.Series = {
    label: isAlone ? title : name,
    stroke,
    width: 2,
    points: { show: x.length < 3 },
    value: (_plot, value) => (value === null || value === undefined ? '–' : format(value)),
  };
  if (raw !== undefined)
    return [line, { ...RAW_LINE, label: 'raw', stroke: `color-mix(in srgb, ${stroke} 35%, transparent)` }];
  return isAlone ? [line, { ...RANGE_EDGE, label: 'least' }, { ...RANGE_EDGE, label: 'greatest' }] : [line];
}
