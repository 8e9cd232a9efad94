/** What would so many days on so many GPUs be like, and what would help? */
import { bestSaveIntervalMs } from '@coxswain/checkpoint';
import { FAILURES } from '../presets/failures.ts';
import { RESPONSES } from '../presets/responses.ts';
import { effectiveShare, type Loss, LOSSES } from '../run/loss-budget.ts';
import { type Incident, type RunOutcome, simulateRun } from '../run/training-run.ts';
import { meanTimeToFailureMs, responseOf, runQuestion, type SimulationQuestion, sparesOf } from './questions.ts';

const HOUR_MS = 3_600_000;

/** Means over the seeds; shares are of wall time, 0 to 1. */
export interface SimulationReport {
  readonly question: SimulationQuestion;
  readonly sources: readonly string[];
  readonly spareNodes: number;
  readonly effective: number;
  readonly lowest: number;
  readonly highest: number;
  /** What would be effective had nobody planned a stop. */
  readonly effectiveBesidePlanned: number;
  readonly losses: Readonly<Record<Loss, number>>;
  readonly interruptions: { readonly faults: number; readonly planned: number; readonly evictions: number };
  /** Faults that took a person. */
  readonly persons: number;
  /** From a fault to training again, in minutes, lost work left out. */
  readonly meanMinutesToRecover: number;
  readonly answers: { readonly inPlace: number; readonly standby: number; readonly newEpoch: number };
  readonly waitedForNodesHours: number;
  readonly causes: readonly CauseLine[];
  readonly whatIf: readonly WhatIf[];
  /** Runs that the rules gave up, in the words of the first. */
  readonly gaveUp?: { readonly runs: number; readonly why: string };
}

/** What one cause of failures cost, averaged over runs. */
export interface CauseLine {
  readonly cause: string;
  /** Per run. */
  readonly count: number;
  /** Of the whole job, from the fault to training again, and what was trained twice. */
  readonly hours: number;
}

/** Result of the same runs with one change, for example a shorter interval between saves. */
export interface WhatIf {
  readonly change: string;
  readonly effective: number;
  /** Above what was asked, as a share of wall time. */
  readonly gain: number;
  /** Runs that the rules gave up: from then on nothing was trained, so that the mean says how early that was and nothing else. */
  readonly gaveUpRuns: number;
}

/** Yields the number of runs that are done after each, of `runsOf(question)`; returns the report. */
export function* simulate(question: SimulationQuestion): Generator<number, SimulationReport> {
  let done = 0;
  const outcomes: RunOutcome[] = [];
  for (const seed of seedsOf(question)) {
    outcomes.push(simulateRun(runQuestion(question, seed)));
    yield ++done;
  }
  const effective = mean(outcomes, (outcome) => outcome.effective);
  const whatIf: WhatIf[] = [];
  for (const { change, question: changed } of changesOf(question)) {
    const runs: RunOutcome[] = [];
    for (const seed of seedsOf(question)) {
      runs.push(simulateRun(runQuestion(changed, seed)));
      yield ++done;
    }
    const then = mean(runs, (run) => run.effective);
    const gaveUpRuns = runs.filter(({ gaveUp }) => gaveUp !== undefined).length;
    whatIf.push({ change, effective: then, gain: then - effective, gaveUpRuns });
  }
  return { ...reportOf(question, outcomes), whatIf };
}

/** The number of runs that a question asks for. */
export function runsOf(question: SimulationQuestion): number {
  return question.seeds * (1 + changesOf(question).length);
}

function seedsOf({ seeds, firstSeed }: SimulationQuestion): readonly number[] {
  return Array.from({ length: seeds }, (_, index) => firstSeed + index);
}

/** Each changes one thing. */
function changesOf(question: SimulationQuestion): readonly { change: string; question: SimulationQuestion }[] {
  const spares = sparesOf(question);
  const { checkpointIntervalSeconds, checkpointStallSeconds, detectors } = responseOf(question);
  const best = bestSaveIntervalMs({
    stallMs: checkpointStallSeconds * 1000,
    meanTimeToFailureMs: meanTimeToFailureMs(question),
  });
  const bestSeconds = Math.max(1, Math.round(best / 1000));
  const changed = (change: string, changes: Partial<SimulationQuestion>) => [
    { change, question: { ...question, ...changes } },
  ];
  return [
    ...changed('no spare nodes', { spareNodes: 0 }),
    ...changed(`twice the spare nodes (${Math.max(1, 2 * spares)})`, { spareNodes: Math.max(1, 2 * spares) }),
    ...changed(`saves each ${bestSeconds} s, the best by Young and Daly`, { checkpointIntervalSeconds: bestSeconds }),
    ...changed(`saves each ${10 * checkpointIntervalSeconds} s, ten times as seldom`, {
      checkpointIntervalSeconds: 10 * checkpointIntervalSeconds,
    }),
    ...changed(`saves that stall a tenth as long (${checkpointStallSeconds / 10} s)`, {
      checkpointStallSeconds: checkpointStallSeconds / 10,
    }),
    ...changed(`hangs noticed in half the time (${detectors.hang.seconds / 2} s)`, {
      detectHangSeconds: detectors.hang.seconds / 2,
    }),
    ...changed('hangs noticed by the watchdog of the framework alone (600 s)', { detectHangSeconds: 600 }),
  ];
}

function reportOf(question: SimulationQuestion, outcomes: readonly RunOutcome[]): Omit<SimulationReport, 'whatIf'> {
  const effective = outcomes.map((outcome) => outcome.effective);
  const wallMs = question.days * 24 * HOUR_MS;
  const incidents = outcomes.flatMap((outcome) => outcome.incidents);
  const perRun = (is: (incident: Incident) => boolean): number => incidents.filter(is).length / outcomes.length;
  const faults = incidents.filter(({ kind }) => kind === 'fault');
  const lost = LOSSES.map((loss) => [loss, mean(outcomes, ({ budget }) => budget[loss] / wallMs)]);
  const [given] = outcomes.filter(({ gaveUp }) => gaveUp !== undefined);
  return {
    question,
    sources: [FAILURES[question.failures].source, RESPONSES[question.response].source],
    spareNodes: sparesOf(question),
    effective: mean(effective, (share) => share),
    lowest: Math.min(...effective),
    highest: Math.max(...effective),
    effectiveBesidePlanned: mean(outcomes, ({ budget }) => effectiveShare({ ...budget, planned: 0 })),
    losses: Object.fromEntries(lost) as Record<Loss, number>,
    interruptions: {
      faults: perRun(({ kind }) => kind === 'fault'),
      planned: perRun(({ kind }) => kind === 'planned'),
      evictions: perRun(({ kind }) => kind === 'eviction'),
    },
    persons: perRun(({ takesPerson }) => takesPerson),
    meanMinutesToRecover: mean(faults, ({ atMs, resumedAtMs }) => (resumedAtMs - atMs) / 60_000),
    answers: {
      inPlace: perRun(({ answer }) => answer === 'inPlace'),
      standby: perRun(({ answer }) => answer === 'standby'),
      newEpoch: perRun(({ answer }) => answer === 'newEpoch'),
    },
    waitedForNodesHours: mean(outcomes, ({ waitedForNodesMs }) => waitedForNodesMs / HOUR_MS),
    causes: causesOf(incidents, outcomes.length),
    ...(given?.gaveUp === undefined
      ? {}
      : { gaveUp: { runs: outcomes.filter(({ gaveUp }) => gaveUp !== undefined).length, why: given.gaveUp } }),
  };
}

function causesOf(incidents: readonly Incident[], runs: number): readonly CauseLine[] {
  const lines = [...Map.groupBy(incidents, ({ cause }) => cause)].map(([cause, of]) => ({
    cause,
    count: of.length / runs,
    hours: of.reduce((sum, one) => sum + one.resumedAtMs - one.atMs + one.lostWorkMs, 0) / HOUR_MS / runs,
  }));
  return lines.toSorted((one, other) => other.hours - one.hours);
}

function mean<T>(values: readonly T[], of: (value: T) => number): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + of(value), 0) / values.length;
}
