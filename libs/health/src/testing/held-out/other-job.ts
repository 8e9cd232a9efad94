/**
 * A second generator of labelled traces, which shares nothing with the first but the format: jobs as somebody else would record them. No micro-batches and
 * no program of calls: each rank has a time of its own in a step, the step takes as long as the slowest, and the rest is waiting. Times are gamma
 * distributed with a heavy tail, ranks differ for good as chips do, the whole job drifts, warms up, evaluates and saves. Nothing here knows of thresholds.
 */
import { coordinatesOfRank, type ParallelLayout, worldSize } from '@coxswain/layout';
import type { TraceHeader, TraceRecord } from '../../trace/records.ts';
import { type Random, randomOf } from '../random.ts';

export interface OtherJob {
  readonly layout: ParallelLayout;
  readonly ranksPerNode: number;
  readonly stepMs: number;
  readonly steps: number;
  /** Coefficient of variation of a rank's time from step to step, and between ranks for good. */
  readonly noise: number;
  readonly chips: number;
  /** Which parts of a step are told. whole: only what it took; sampled: of every eighth step how long the GPU computed, was idle and waited, of others only what they took. */
  readonly timings: 'parts' | 'waiting' | 'whole' | 'sampled';
  readonly reportEveryMs: number;
  /** Multiples of the time of stages. */
  readonly stages?: readonly number[];
  /** Coefficient of variation of the work of each set of samples, which ranks of one data index share. */
  readonly samples?: number;
  readonly tellsWork?: boolean;
  /** All steps of the job change by this much together: sequences of the whole batch. */
  readonly batches?: number;
  /** Multiple of the whole step by its number: drift, warm-up, a slower job. */
  readonly pace?: (step: number) => number;
  /** Of one rank in one step, or of its waiting for data as a share of the step. */
  readonly slow?: (rank: number, step: number) => number;
  readonly data?: (rank: number, step: number) => number;
  /** Every so many steps nothing is told for so long, but that ranks live. */
  readonly evaluatesEvery?: readonly [steps: number, ms: number];
  readonly savesEvery?: readonly [steps: number, ms: number];
  /** At this step the ranks began anew from so many steps before. */
  readonly restart?: { readonly at: number; readonly back: number; readonly afterMs: number };
  /** Before this step nothing is heard of the ranks from here on. */
  readonly late?: { readonly from: number; readonly untilStep: number };
  readonly lost?: number;
  readonly reordered?: number;
  /** From this step on the writer's clock is off by so much. */
  readonly clockStep?: readonly [step: number, ms: number];
  readonly lossOf?: (step: number, random: Random) => number;
}

const SAMPLED_EVERY = 8;

const USUAL: OtherJob = {
  layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 64 },
  ranksPerNode: 8,
  stepMs: 6_000,
  steps: 200,
  noise: 0.03,
  chips: 0.01,
  timings: 'parts',
  reportEveryMs: 10_000,
};

export function otherJob(changes: Partial<OtherJob>): OtherJob {
  return { ...USUAL, ...changes };
}

export function headerOf({ layout, ranksPerNode, reportEveryMs }: OtherJob): TraceHeader {
  const ranks = worldSize(layout);
  const nodes = Array.from({ length: Math.ceil(ranks / ranksPerNode) }, (_, node) => ({
    node: `host-${node}`,
    ranks: `${node * ranksPerNode}-${Math.min(ranks, (node + 1) * ranksPerNode) - 1}`,
  }));
  return { kind: 'header', version: 1, layout, nodes, reportEveryMs };
}

/** Sum of so many exponential times over their mean: mean 1, coefficient of variation `spread`; one in a hundred is half as long again. */
function gammaLike(random: Random, spread: number): number {
  const shape = Math.max(1, 1 / spread ** 2);
  // Wilson and Hilferty: the cube of a normal variable.
  const root = 1 - 1 / (9 * shape) + random.normal() / (3 * Math.sqrt(shape));
  return Math.max(0.2, root) ** 3 * (random.uniform() < 0.01 ? 1.5 : 1);
}

export function* traceOtherJob(job: OtherJob, seed: number): Generator<TraceRecord> {
  const random = randomOf(seed);
  const ranks = worldSize(job.layout);
  const chips = Array.from({ length: ranks }, () => 1 + job.chips * random.normal());
  const places = Array.from({ length: ranks }, (_, rank) => coordinatesOfRank(job.layout, rank));
  let nowMs = 1_000;
  let kept: TraceRecord[] = [];
  const offset = (step: number): number =>
    job.clockStep !== undefined && step >= job.clockStep[0] ? job.clockStep[1] : 0;
  const doesReport = (rank: number, step: number): boolean =>
    job.late === undefined || rank < job.late.from || step >= job.late.untilStep;

  function* beat(untilMs: number, step: number): Generator<TraceRecord> {
    for (; nowMs + job.reportEveryMs < untilMs; nowMs += job.reportEveryMs) {
      const told = step - (job.restart !== undefined && step >= job.restart.at ? job.restart.back : 0);
      for (let first = 0; first < ranks; first += job.ranksPerNode) {
        const ofNode = Array.from({ length: Math.min(job.ranksPerNode, ranks - first) }, (_, at) => first + at);
        const reporting = ofNode.filter((rank) => doesReport(rank, step));
        if (reporting.length > 0) {
          const alive = reporting.map((rank) => ({ rank, step: told === 1 ? null : told - 1 }));
          yield { kind: 'heartbeat', atMs: nowMs + offset(step), ranks: alive };
        }
      }
    }
    nowMs = untilMs;
  }

  for (let index = 1; index <= job.steps; index += 1) {
    if (job.restart !== undefined && index === job.restart.at) yield* beat(nowMs + job.restart.afterMs, index);
    const step = index - (job.restart !== undefined && index >= job.restart.at ? job.restart.back : 0);
    const batch = gammaLike(random, job.batches ?? 0.001) * (job.pace?.(index) ?? 1);
    const samples = new Map<number, number>();
    const own = chips.map((chip, rank) => {
      const place = places[rank];
      const of = (place?.dataIndex ?? 0) * 64 + (place?.weightShardIndex ?? 0);
      const work = samples.get(of) ?? gammaLike(random, job.samples ?? 0.001);
      samples.set(of, work);
      const stage = job.stages?.[place?.pipelineIndex ?? 0] ?? 1;
      const computeMs =
        0.7 * job.stepMs * chip * stage * batch * work * gammaLike(random, job.noise) * (job.slow?.(rank, index) ?? 1);
      return { computeMs, dataMs: (job.data?.(rank, index) ?? 0) * job.stepMs, work };
    });
    const wholeMs = Math.max(...own.map(({ computeMs, dataMs }) => computeMs + dataMs)) + 0.1 * job.stepMs;
    yield* beat(nowMs + wholeMs, index);
    const loss = job.lossOf?.(index, random) ?? 3 + 5 / Math.sqrt(index) + 0.05 * random.normal();
    const told: TraceRecord[] = [];
    for (let first = 0; first < ranks; first += job.ranksPerNode) {
      const ofNode = Array.from({ length: Math.min(job.ranksPerNode, ranks - first) }, (_, at) => first + at);
      const reporting = ofNode.filter((rank) => doesReport(rank, index));
      if (reporting.length === 0 || random.uniform() < (job.lost ?? 0)) continue;
      told.push({
        kind: 'step',
        atMs: nowMs + offset(index),
        step,
        loss: first === 0 ? loss : null,
        gradNorm: first === 0 ? Math.exp(0.5 * random.normal()) : null,
        ranks: reporting.map((rank) => timing(rank, own[rank], wholeMs, timingsIn(step, job.timings))),
        ...(job.tellsWork === true
          ? { work: reporting.map((rank) => ({ rank, squaredTokens: 1e9 * (own[rank]?.work ?? 1) })) }
          : {}),
      });
    }
    const late = told.filter(() => random.uniform() < (job.reordered ?? 0));
    yield* told.filter((record) => !late.includes(record));
    yield* kept.map((record) => ({ ...record, atMs: nowMs + offset(index) }) as TraceRecord);
    kept = late;
    for (const every of [job.evaluatesEvery, job.savesEvery]) {
      if (every !== undefined && index % every[0] === 0) yield* beat(nowMs + every[1], index + 1);
    }
  }
}

function timingsIn(step: number, timings: OtherJob['timings']): OtherJob['timings'] {
  return timings === 'sampled' && step % SAMPLED_EVERY !== 0 ? 'whole' : timings;
}

function timing(
  rank: number,
  own: { readonly computeMs: number; readonly dataMs: number } | undefined,
  wholeMs: number,
  timings: OtherJob['timings'],
) {
  const { computeMs = 0, dataMs = 0 } = own ?? {};
  const communication = wholeMs - computeMs - dataMs;
  const parts: Record<OtherJob['timings'], Record<string, number>> = {
    whole: {},
    waiting: { communication, data: dataMs },
    sampled: { compute: 0.9 * computeMs, host: 0.1 * computeMs + dataMs, communication },
    parts: { train: 0.9 * computeMs, step: 0.1 * computeMs, communication, data: dataMs },
  };
  return { rank, stepTimeMs: wholeMs, timingsMs: parts[timings] };
}
