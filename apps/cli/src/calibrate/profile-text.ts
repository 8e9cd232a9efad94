/** What a calibration found, for people: how far off the planner was before and is after, by kind of probe or by engine. */
import type { CalibratedEngine, JudgedProbe } from '@coxswain/planner-calibration/profile';
import { columns } from '../output/output.ts';

const KINDS: Readonly<Record<string, string>> = {
  product: 'matrix products',
  step: 'steps of small models',
  collective: 'collectives',
};

/** Median size of the error of each kind of probe, without and with the profile. The profile was fitted to these very probes. */
export function probesText(probes: readonly JudgedProbe[]): string {
  const rows = [...Map.groupBy(probes, ({ probe }) => probe.kind)].map(([kind, own]) => [
    KINDS[kind] ?? kind,
    String(own.length),
    percent(medianError(own, ({ usuallyS }) => usuallyS)),
    percent(medianError(own, ({ calibratedS }) => calibratedS)),
  ]);
  const table = columns([['MEASURED', 'N', 'MEDIAN |ERROR| BEFORE', 'WITH THE PROFILE'], ...rows]);
  return `${table}\n\nThe profile was fitted to these probes; jobs are predicted less well (coxswain plans accuracy).`;
}

/** Table of the factor that calibration found for each engine, and of the errors before and after. */
export function enginesText(engines: readonly CalibratedEngine[]): string {
  const rows = engines.map(({ engine, jobs, factor, medianBeforePct, medianLeftOutPct }) => [
    engine,
    String(jobs),
    factor.toFixed(3),
    percent(medianBeforePct),
    medianLeftOutPct === undefined ? '-' : percent(medianLeftOutPct),
  ]);
  const table = columns([['ENGINE', 'JOBS', 'FACTOR', 'MEDIAN |ERROR| BEFORE', 'EACH BY THE OTHERS'], ...rows]);
  return `${table}\n\nThe last column predicts each job with the factor of the other jobs of its engine.`;
}

const percent = (value: number): string => `${value.toFixed(1)} %`;

function medianError(probes: readonly JudgedProbe[], predicted: (probe: JudgedProbe) => number): number {
  const errors = probes.map((probe) => 100 * Math.abs(predicted(probe) / probe.measuredS - 1)).sort((a, b) => a - b);
  return errors[Math.floor(errors.length / 2)] ?? 0;
}
