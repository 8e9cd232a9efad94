import type { StepFrame } from '@coxswain/api-types';

/** One entry per step: a statement cannot touch the same row twice. What one frame knows fills what another does not. */
export function mergeSteps(frames: readonly StepFrame[]): readonly StepValues[] {
  const byKey = new Map<string, StepValues>();
  for (const frame of frames) {
    const values = valuesOf(frame);
    const key = `${values.jobUid}/${values.epoch}/${values.step}`;
    const known = byKey.get(key);
    byKey.set(key, known === undefined ? values : merged(known, values));
  }
  return [...byKey.values()];
}

/** What is known of a step of an attempt of a job. */
export type StepValues = ReturnType<typeof valuesOf>;

/** What a frame says of its step, less who said it and how fast its own ranks were. */
function valuesOf({ kind: _kind, bootId, sequence, namespace, jobName, ranks, ...values }: StepFrame) {
  return values;
}

function merged(known: StepValues, other: StepValues): StepValues {
  return {
    ...known,
    loss: known.loss ?? other.loss,
    tokens: known.tokens ?? other.tokens,
    stepTimeMs: Math.max(known.stepTimeMs, other.stepTimeMs),
    gradNorm: known.gradNorm ?? other.gradNorm,
    learningRate: known.learningRate ?? other.learningRate,
  };
}

/** What is kept of a rank: its last step. */
type RankStep = StepFrame['ranks'][number] & Pick<StepFrame, 'jobUid' | 'epoch' | 'step' | 'at'>;

/**
 * The newest step of each rank in the batch. Ranks that restart in their pods count from an earlier step in the same epoch, at a later time. If
 * another operator's clock is behind, a later step counts although its time is earlier.
 */
export function latestPerRank(frames: readonly StepFrame[]): readonly RankStep[] {
  const byRank = new Map<string, RankStep>();
  for (const { jobUid, epoch, step, at, ranks } of frames) {
    for (const timing of ranks) {
      const key = `${jobUid}/${timing.rank}`;
      const known = byRank.get(key);
      const isNewer =
        known === undefined || epoch > known.epoch || (epoch === known.epoch && (step > known.step || at > known.at));
      if (isNewer) byRank.set(key, { ...timing, jobUid, epoch, step, at });
    }
  }
  return [...byRank.values()];
}
