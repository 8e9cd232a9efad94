import type { Job } from '@coxswain/api-types';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { Curve, SeriesName } from '../job/curve.ts';
import { type CurveChoice, curveChoiceOf, MOST_OTHERS, MOST_SMOOTHING, withCurveChoice } from '../job/curve-choice.ts';
import {
  axisFormat,
  hasSeries,
  positionsOf,
  restartsOf,
  type RunAttempt,
  seriesOf,
  X_AXES,
  type XAxis,
} from '../job/run-series.ts';
import { useOtherRuns } from '../job/use-other-runs.ts';
import { useSession } from '../session.tsx';
import { formatSpeed } from '../step-time.ts';
import { useDebounced } from '../use-debounced.ts';
import { ActionDialog } from './action-dialog.tsx';
import { CurvePlot, type PlottedRun } from './curve-plot.tsx';
import { StatePill } from './state-pill.tsx';

/** One run of those that are laid over each other. */
interface ShownRun {
  readonly id: string;
  readonly name: string;
  readonly attempts: readonly RunAttempt[];
  readonly curve: Curve;
}

interface Plot {
  readonly title: string;
  readonly series: SeriesName;
  /** Of a run alone. */
  readonly color: string;
  readonly format: (value: number) => string;
  readonly fromZero: boolean;
  /** Not shown if no run reports it. */
  readonly isOptional: boolean;
}

const PLOTS: readonly Plot[] = [
  { title: 'Loss', series: 'loss', color: '--curve-loss', format: formatLoss, fromZero: false, isOptional: false },
  {
    title: 'Tokens/s',
    series: 'tokensPerSecond',
    color: '--curve-speed',
    format: formatSpeed,
    fromZero: true,
    isOptional: true,
  },
  {
    title: 'Gradient norm',
    series: 'gradNorm',
    color: '--run-2',
    format: formatShort,
    fromZero: false,
    isOptional: true,
  },
  {
    title: 'Learning rate',
    series: 'learningRate',
    color: '--run-3',
    format: formatShort,
    fromZero: true,
    isOptional: true,
  },
];
const RUN_COLORS = ['--curve-loss', '--run-2', '--run-3'] as const;
const AXIS_WORDS: Readonly<Record<XAxis, string>> = { steps: 'steps', tokens: 'tokens', time: 'time' };

function formatLoss(value: number): string {
  return value.toFixed(3);
}

function formatShort(value: number): string {
  return Number(value.toPrecision(3)).toString();
}

/** The curves of a job, with those of others laid over them. The choice is in the address, so a link shows the same. */
export function RunCurves({
  job,
  project,
  curve,
}: {
  readonly job: Job;
  readonly project: string;
  readonly curve: Curve;
}): ReactNode {
  const [query, setQuery] = useSearchParams();
  const choice = useMemo(() => curveChoiceOf(query), [query]);
  const setChoice = (changes: Partial<CurveChoice>): void =>
    setQuery((before) => withCurveChoice(before, { ...curveChoiceOf(before), ...changes }), { replace: true });
  const { runs: others, problem } = useOtherRuns(project, choice.others);
  const runs = useMemo<readonly ShownRun[]>(
    () => [{ id: job.id, name: job.name, attempts: job.attempts, curve }, ...others],
    [job.id, job.name, job.attempts, curve, others],
  );
  return (
    <section className="curves" aria-label="Curves">
      <CurveControls job={job} project={project} choice={choice} onChange={setChoice} />
      {runs.length > 1 && <RunLegend project={project} runs={runs} choice={choice} onChange={setChoice} />}
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <Plots runs={runs} choice={choice} />
    </section>
  );
}

function Plots({ runs, choice }: { readonly runs: readonly ShownRun[]; readonly choice: CurveChoice }): ReactNode {
  const { axis, isLogarithmic } = choice;
  const greatest = useMemo(() => Math.max(0, ...runs.map(({ curve }) => lastPosition(curve, axis))), [runs, axis]);
  const { unit, label } = axisFormat(axis, greatest);
  // The same object while it writes the same, because plots are made anew with another axis.
  const shownAxis = useMemo(() => axisFormat(axis, axis === 'time' ? greatest : 0), [axis, unit]);
  const lacking = runs.filter(({ curve }) => curve.size > 0 && positionsOf(curve, axis) === undefined);
  const marks = useMemo(
    () =>
      runs.flatMap(({ curve, attempts }, index) =>
        restartsOf(curve, axis, attempts).map(({ x, label: attempt }) => ({
          x: x / unit,
          label: attempt,
          ...(runs.length === 1 ? {} : { color: RUN_COLORS[index] ?? '--muted' }),
        })),
      ),
    [runs, axis, unit],
  );
  return (
    <>
      {lacking.length > 0 && (
        <p className="hint">
          {lacking.map(({ name }) => name).join(' and ')}: no curve over {label}, because the engine reports no tokens.
        </p>
      )}
      {runs.length === 1 && runs.some(({ curve }) => curve.size > 0 && !hasSeries(curve, 'loss')) && (
        <p className="hint">
          No loss: the program reports none, and no line of its log names one. Let it print its steps, such as{' '}
          <code>step 10 loss 2.31</code>.
        </p>
      )}
      <div className="plots">
        {PLOTS.filter(
          ({ isOptional, series }) => !isOptional || runs.some(({ curve }) => hasSeries(curve, series)),
        ).map((plot) => (
          <RunPlot key={plot.series} {...{ plot, runs, choice, unit, marks, isLogarithmic }} axis={shownAxis} />
        ))}
      </div>
    </>
  );
}

/** Positions never decrease along a curve. */
function lastPosition(curve: Curve, axis: XAxis): number {
  return [...(positionsOf(curve, axis)?.values() ?? [])].at(-1) ?? 0;
}

function RunPlot(props: {
  readonly plot: Plot;
  readonly runs: readonly ShownRun[];
  readonly choice: CurveChoice;
  readonly unit: number;
  readonly axis: Parameters<typeof CurvePlot>[0]['axis'];
  readonly marks: Parameters<typeof CurvePlot>[0]['marks'];
  readonly isLogarithmic: boolean;
}): ReactNode {
  const { plot, runs, choice, unit, ...shown } = props;
  const { title, series, color, format, fromZero } = plot;
  const { axis, smoothing } = choice;
  const plotted = useMemo<readonly PlottedRun[]>(
    () =>
      runs.flatMap(({ name, curve }, index) => {
        const found = seriesOf(curve, series, { axis, smoothing });
        if (found === undefined) return [];
        const ofRun = runs.length === 1 ? color : (RUN_COLORS[index] ?? '--muted');
        return [{ ...found, x: unit === 1 ? found.x : found.x.map((x) => x / unit), name, color: ofRun }];
      }),
    [runs, series, axis, smoothing, unit, color],
  );
  return <CurvePlot {...shown} {...{ title, format, fromZero }} runs={plotted} />;
}

interface ControlsProps {
  readonly choice: CurveChoice;
  readonly onChange: (changes: Partial<CurveChoice>) => void;
}

function CurveControls(props: ControlsProps & { readonly job: Job; readonly project: string }): ReactNode {
  const { choice, onChange, job, project } = props;
  const [isChoosing, setChoosing] = useState(false);
  return (
    <div className="curve-controls">
      <label>
        <span className="hint">Over</span>
        <select value={choice.axis} onChange={(event) => onChange({ axis: event.target.value as XAxis })}>
          {X_AXES.map((axis) => (
            <option key={axis} value={axis}>
              {AXIS_WORDS[axis]}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span className="hint">Smoothing</span>
        <input
          type="range"
          min={0}
          max={MOST_SMOOTHING}
          step={0.01}
          value={choice.smoothing}
          onChange={(event) => onChange({ smoothing: event.target.valueAsNumber })}
        />
      </label>
      <label>
        <input
          type="checkbox"
          checked={choice.isLogarithmic}
          onChange={(event) => onChange({ isLogarithmic: event.target.checked })}
        />{' '}
        Logarithmic
      </label>
      <button type="button" disabled={choice.others.length >= MOST_OTHERS} onClick={() => setChoosing(true)}>
        Compare…
      </button>
      {isChoosing && (
        <RunChooser
          project={project}
          chosen={[job.id, ...choice.others]}
          onChoose={(id) => {
            onChange({ others: [...choice.others, id] });
            setChoosing(false);
          }}
          onClose={() => setChoosing(false)}
        />
      )}
    </div>
  );
}

const SEARCH_MS = 300;
const MOST_FOUND = 12;

/** A job of the project, found by its name. */
function RunChooser(props: {
  readonly project: string;
  readonly chosen: readonly string[];
  readonly onChoose: (id: string) => void;
  readonly onClose: () => void;
}): ReactNode {
  const { project, chosen, onChoose, onClose } = props;
  const { api } = useSession();
  const [typed, setTyped] = useState('');
  const name = useDebounced(typed.trim(), SEARCH_MS);
  const { data, error } = useQuery({
    queryKey: ['runs to compare', project, name],
    queryFn: () => api.jobPage(project, { q: name === '' ? undefined : name, pageSize: MOST_FOUND + chosen.length }),
  });
  const found = data?.items.filter(({ id }) => !chosen.includes(id)).slice(0, MOST_FOUND);
  return (
    <ActionDialog title="Lay another run over this one" problem={error?.message} onClose={onClose}>
      <label className="field">
        <span>Name</span>
        <input type="text" value={typed} onChange={(event) => setTyped(event.target.value)} />
      </label>
      {found?.length === 0 && <p className="empty">No other job of the project has such a name.</p>}
      <ul className="run-choices">
        {found?.map((job) => (
          <li key={job.id}>
            <button type="button" className="link" onClick={() => onChoose(job.id)}>
              {job.name}
            </button>
            <StatePill state={job.state} />
          </li>
        ))}
      </ul>
    </ActionDialog>
  );
}

function RunLegend(props: ControlsProps & { readonly project: string; readonly runs: readonly ShownRun[] }): ReactNode {
  const { project, runs, choice, onChange } = props;
  return (
    <ul className="run-legend" aria-label="Runs">
      {runs.map(({ id, name }, index) => (
        <li key={id}>
          <span className="swatch" style={{ background: `var(${RUN_COLORS[index] ?? '--muted'})` }} />{' '}
          {index === 0 ? name : <Link href={`/projects/${project}/jobs/${id}`}>{name}</Link>}
          {index > 0 && (
            <button
              type="button"
              className="quiet"
              aria-label={`Remove ${name}`}
              onClick={() => onChange({ others: choice.others.filter((one) => one !== id) })}
            >
              ×
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
