/** What does a vocabulary spread over the pipeline do to its schedule? Inputs of the simulation for Vocabulary Parallelism (2411.05288). */
import { stageOfRank, type ScheduleInput } from './schedule-input.ts';

/** Embedding, output layer and loss of one micro-batch, in seconds as if one rank did all of it. */
export interface VocabularyWork {
  readonly forwardS: number;
  readonly backwardInputS: number;
  readonly backwardWeightS: number;
  /** One synchronisation of all ranks of the pipeline: softmax statistics, and the reduction of the hidden states' gradient. */
  readonly synchronisationS: number;
}

/**
 * Every rank computes its share of the vocabulary in passes of its own, while the last stage's micro-batches wait for one or two
 * synchronisations; as many further micro-batches in flight hide them. 1F1B holds `pipeline` + 1 or + 2 on its first rank.
 *
 * An approximation: a rank runs its share together with the forward and backward of its first chunk, not in a slot between them. Schedules
 * other than 1f1b get the work and the delay, but hold no extra micro-batches.
 * @param input times of the transformer layers alone
 */
export function withShardedVocabulary(input: ScheduleInput, work: VocabularyWork, barriers: 1 | 2): ScheduleInput {
  return {
    ...withShares(input, work, 0),
    turnaroundS: (input.turnaroundS ?? 0) + barriers * work.synchronisationS,
    ...extraInFlight(input, barriers),
  };
}

/**
 * Every rank interrupts its pipeline for its share of each micro-batch's vocabulary, as in tensor parallelism: nothing hides the
 * synchronisations, one on the way forward and one back, and 1F1B holds 1.5 times `pipeline` micro-batches on its first rank.
 * @param input times of the transformer layers alone
 */
export function withInterlacedVocabulary(input: ScheduleInput, work: VocabularyWork): ScheduleInput {
  return { ...withShares(input, work, work.synchronisationS), ...extraInFlight(input, Math.ceil(input.pipeline / 2)) };
}

function withShares(input: ScheduleInput, work: VocabularyWork, waitS: number): ScheduleInput {
  const forwardS = Float64Array.from(input.forwardS);
  const backwardInputS = Float64Array.from(input.backwardInputS);
  const backwardWeightS = Float64Array.from(input.backwardWeightS);
  for (let rank = 0; rank < input.pipeline; rank++) {
    const stage = stageOfRank(input, rank, 0);
    forwardS[stage] = (forwardS[stage] ?? 0) + work.forwardS / input.pipeline + waitS;
    backwardInputS[stage] = (backwardInputS[stage] ?? 0) + work.backwardInputS / input.pipeline + waitS;
    backwardWeightS[stage] = (backwardWeightS[stage] ?? 0) + work.backwardWeightS / input.pipeline;
  }
  return { ...input, forwardS, backwardInputS, backwardWeightS };
}

function extraInFlight(input: ScheduleInput, further: number): { extraInFlight?: number } {
  return input.schedule === '1f1b' ? { extraInFlight: (input.extraInFlight ?? 0) + further } : {};
}
