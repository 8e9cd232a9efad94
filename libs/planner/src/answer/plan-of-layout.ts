/** Makes a plan of a layout: options for the engine, prediction and price. */
import { type ParallelLayout, resolveGradientPrecision } from '@coxswain/layout';
import { GIB_BYTES } from '@coxswain/units';
import type { CandidateLayout, Precision, RunFacts } from '../facts.ts';
import { predictMemory } from '../memory/predict-memory.ts';
import type { Plan } from '../contract.ts';
import type { MeasuredLayout } from '../search/kept-layouts.ts';
import { bytesOfGradient, namedEngineOf } from '../request/engine-choices.ts';
import { layoutOfCandidate } from '../request/layout-conversion.ts';
import { predictRun } from './predict-run.ts';
import { meanOverGpus } from '../time/islands.ts';
import { layoutForEngine } from './layout-for-engine.ts';
import { explainStages } from './explain-stages.ts';
import { runOnGpus, stepsOf, type ResolvedRequest } from '../request/resolved-request.ts';

const SECONDS_PER_HOUR = 3600;

/** The plan of a layout. */
export function planOf(resolved: ResolvedRequest, layout: Pick<MeasuredLayout, 'candidate' | 'gpus'>): Plan {
  const { request } = resolved;
  const { candidate, gpus } = layout;
  const base = runOnGpus(resolved, gpus);
  const run = { ...base, candidate };
  const prediction = predictRun(run, request.memoryMarginShare);
  const hostGib = Math.ceil(predictMemory(run).hostBytesPerGpu / GIB_BYTES);
  const written = layoutOfCandidate(plainCandidate(candidate), base.model, hostGib);
  const usdPerGpuHour = request.cluster.usdPerGpuHour ?? meanOverGpus(run, (gpu) => gpu.usdPerHour);
  const steps = request.tokens === undefined ? 1 : stepsOf(request, request.tokens);
  const hours = (steps * prediction.stepTimeS) / SECONDS_PER_HOUR;
  return {
    layout: layoutForEngine(run.stack, withGradients(withPrecision(written, run.precision), run)),
    microBatchSize: candidate.microBatchSize,
    gpus,
    prediction,
    costUsd: hours * gpus * usdPerGpuHour,
    ...(request.tokens === undefined ? {} : { trainingHours: hours }),
    ...explainStages(run, resolved),
  };
}

/** Adds the precision to the layout unless the job states it, as it does for bf16 and fp32. */
function withPrecision(layout: ParallelLayout, precision: Precision): ParallelLayout {
  if (precision === 'bf16' || precision === 'fp32') return layout;
  return { ...layout, kernel: { ...layout.kernel, precision } };
}

/** Adds the format of gradients if it is not the one that a layout without it means. */
function withGradients(
  layout: ParallelLayout,
  run: Pick<RunFacts, 'stack' | 'gradientBytes' | 'precision'>,
): ParallelLayout {
  const meant = resolveGradientPrecision(namedEngineOf(run.stack), layout, run.precision);
  if (run.gradientBytes === bytesOfGradient(meant)) return layout;
  const gradientPrecision = run.gradientBytes === 2 ? ('bf16' as const) : ('fp32' as const);
  return { ...layout, states: { ...layout.states, gradientPrecision } };
}

/** The candidate without options that have no effect: overlap without data parallelism, and gathering of unsharded states. */
function plainCandidate(candidate: CandidateLayout): CandidateLayout {
  const replicas = candidate.data * candidate.context;
  if (replicas > 1 && candidate.zeroStage > 0) return candidate;
  return { ...candidate, overlapGradReduce: candidate.overlapGradReduce && replicas > 1, overlapParamGather: false };
}
