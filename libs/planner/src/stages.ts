/** Which layers each pipeline stage holds, and which rank runs a stage. */
import type { ModelShape } from '@coxswain/layout';

import type { CandidateLayout, Schedule, StagePart } from './facts.ts';

const V_SHAPED: ReadonlySet<Schedule> = new Set<Schedule>(['zbv', 'v-half', 'v-min', 'dualpipe-v']);

/** Whether a schedule is V-shaped: a sample passes down the ranks and back up, so the first rank holds both ends of the model. */
export function isVShaped(schedule: Schedule): boolean {
  return V_SHAPED.has(schedule);
}

/** The pipeline rank that runs virtual stage `stage` of `pipeline * chunks`. */
export function rankOfStage(candidate: Pick<CandidateLayout, 'pipeline' | 'schedule'>, stage: number): number {
  const { pipeline, schedule } = candidate;
  const rank = stage % pipeline;
  const goesUp = isVShaped(schedule) && Math.floor(stage / pipeline) % 2 === 1;
  return goesUp ? pipeline - 1 - rank : rank;
}

/**
 * The parts of the pipeline, `pipeline * chunks` entries in the order a sample passes through: the layout's own, or layers spread by rule.
 *
 * 'counted-as-layer' gives embedding and loss the place of one layer each. Layers that do not divide are spread as Megatron-Bridge's recipes and
 * DeepSpeed's partitioner do. If counting embedding and loss as a layer each makes them divide, they are spread so. Else stages are full from the front,
 * and the last one, which holds the loss, takes what is left. If that would leave later stages empty, each of the first stages takes one layer more.
 */
export function stagePartsOf(
  model: Pick<ModelShape, 'layers' | 'mtpLayers'>,
  candidate: Pick<CandidateLayout, 'pipeline' | 'chunks' | 'stages' | 'vocabulary'>,
): readonly StagePart[] {
  if (candidate.stages !== undefined) return candidate.stages;
  const count = candidate.pipeline * candidate.chunks;
  const divides = model.layers % count === 0;
  const endsDivide = !divides && count > 1 && (model.layers + 2) % count === 0;
  const counted = count > 1 && (candidate.vocabulary === 'counted-as-layer' || endsDivide) ? 1 : 0;
  const slots = model.layers + 2 * counted;
  const full = Math.ceil(slots / count);
  const left = slots - full * (count - 1);
  const each = Math.floor(slots / count);
  const remainder = slots % count;
  const slotsOf = (stage: number): number => {
    if (left >= counted) return stage === count - 1 ? left : full;
    return each + (stage < remainder ? 1 : 0);
  };
  return Array.from({ length: count }, (_, stage) => {
    const first = stage === 0;
    const last = stage === count - 1;
    const ends = counted * ((first ? 1 : 0) + (last ? 1 : 0));
    return {
      layers: Math.max(0, slotsOf(stage) - ends),
      embedding: first,
      loss: last,
      mtpLayers: last ? model.mtpLayers : 0,
    };
  });
}
