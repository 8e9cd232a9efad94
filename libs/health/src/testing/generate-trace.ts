/** A labelled trace of a job, from a model of what its steps depend on. Seeded; nothing in it knows of thresholds. */
import { coordinatesOfRank, type ParallelLayout } from '@coxswain/layout';
import type { TraceHeader, TraceRecord } from '../trace/records.ts';
import { faultsOf } from './faults.ts';
import { type Plot, REPORT_EVERY_MS } from './plot.ts';
import { randomOf } from './random.ts';
import { type CallCounts, runStep } from './run-step.ts';
import type { Scenario } from './scenario.ts';
import { type Call, stepModel, type StepModel } from './step-program.ts';
import { reportStep } from './report-step.ts';
import type { TraceSize } from './trace-size.ts';

/** 128 ranks on 16 nodes for half an hour; something goes wrong after twelve minutes. */
export const USUAL_SIZE: TraceSize = {
  layout: { tensorParallelDegree: 4, pipelineParallelDegree: 4, dataParallelDegree: 8 },
  microBatches: 8,
  ranksPerNode: 8,
  durationMs: 1_800_000,
  onsetMs: 720_000,
};

export interface Truth {
  readonly onsetMs: number;
  /** Per fault the ranks to blame; none where nobody is. */
  readonly ranks: readonly (readonly number[])[];
}

export interface LabelledTrace {
  readonly header: TraceHeader;
  readonly truth: Truth;
  readonly records: Iterable<TraceRecord>;
}

const SAVE_EVERY_STEPS = 100;
/** Of a job that stands still, so much is told. */
const TAIL_MS = 600_000;

export function generateTrace(scenario: Scenario, seed: number, size: TraceSize = USUAL_SIZE): LabelledTrace {
  const layout: ParallelLayout = { ...size.layout, ...scenario.layout };
  const model = stepModel(layout, size.microBatches);
  const random = randomOf(seed);
  const faults = faultsOf({ scenario, model, size, random });
  const nodes = Array.from({ length: Math.ceil(model.ranks / size.ranksPerNode) }, (_, index) => ({
    node: `node-${String(index).padStart(4, '0')}`,
    ranks: `${index * size.ranksPerNode}-${Math.min(model.ranks, (index + 1) * size.ranksPerNode) - 1}`,
  }));
  return {
    header: { kind: 'header', version: 1, layout, nodes, reportEveryMs: REPORT_EVERY_MS },
    truth: { onsetMs: size.onsetMs, ranks: faults.blamed },
    records: { [Symbol.iterator]: () => generateRecords({ scenario, model, size, random, faults }) },
  };
}

function* generateRecords(plot: Plot): Generator<TraceRecord> {
  const { model, size } = plot;
  for (const { group, name, ranks } of model.groups) yield { kind: 'group', group, name, ranks: asSet(ranks) };
  const counts: CallCounts = Array.from({ length: model.ranks }, () => new Map<number, number>());
  const teller = reportStep(plot);
  let startsMs: ArrayLike<number> = new Float64Array(model.ranks);
  for (let step = 1, nowMs = 0; nowMs < size.durationMs; step += 1) {
    const saving = step % SAVE_EVERY_STEPS === 0;
    const ran = runStep(model, worldOf(plot, step, nowMs, saving), startsMs, counts);
    const stands = ran.some(({ endedMs }) => endedMs === Infinity);
    yield* teller(ran, step, stands ? nowMs + TAIL_MS : undefined);
    if (stands) return;
    startsMs = Float64Array.from(ran, ({ endedMs }) => endedMs);
    nowMs = Math.max(...ran.map(({ endedMs }) => endedMs));
  }
}

function worldOf({ model, scenario, random, faults }: Plot, step: number, nowMs: number, saving: boolean) {
  const sigma = scenario.noise ?? 0.01;
  const dayMs = 86_400_000;
  // A percent up and down over the day, as the air gets warmer: the same for all.
  const ofDay = 1 + 0.01 * Math.sin((2 * Math.PI * nowMs) / dayMs);
  const noise = Float64Array.from({ length: model.ranks }, () => Math.exp(sigma * random.normal()) * ofDay);
  const linkNoise = Float64Array.from(model.groups, () => Math.exp(sigma * random.normal()));
  const now = faults.at(step, nowMs, saving);
  const stageOf = (rank: number): number => coordinatesOfRank(model.layout, rank).pipelineIndex;
  const stages = scenario.stages;
  const paces = noise.map((value, rank) => value * (stages?.[stageOf(rank)] ?? 1));
  return {
    program: (rank: number): readonly Call[] => now.program(rank, withSave(model, rank, saving)),
    pace: (rank: number, part: string) => (paces[rank] ?? 1) * now.pace(rank, part),
    transfer: (group: number) => (linkNoise[group] ?? 1) * now.transfer(group),
    freezesAt: now.freezesAt,
    hostsRunAhead: scenario.hostsRunAhead === true,
  };
}

/** A save is what each rank writes, and then a word of all to all. */
function withSave(model: StepModel, rank: number, saving: boolean): readonly Call[] {
  const program = model.programs[rank] ?? [];
  if (!saving) return program;
  return [
    ...program,
    { kind: 'compute', part: 'saving', ms: 20_000 },
    { kind: 'operation', group: model.world, operation: 'barrier', bytes: 0, waits: true },
  ];
}

function asSet(ranks: readonly number[]): string {
  const [first = 0, second = first, ...others] = ranks;
  const stride = second - first;
  const even = others.every((rank, index) => rank === first + (index + 2) * stride);
  if (ranks.length < 3 || !even) return ranks.join(',');
  return stride === 1 ? `${first}-${ranks.at(-1)}` : `${first}-${ranks.at(-1)}/${stride}`;
}
