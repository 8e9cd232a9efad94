/** Makes stages as even as possible without making the slowest slower. */
/** Costs of stages: seconds of one micro-batch. */
export interface StageWeights {
  /** One entry per layer. */
  readonly layersS: readonly number[];
  readonly embeddingS: number;
  /** Output layer and loss, with everything that only the last stage does. */
  readonly lossS: number;
  /** Relative speed of the GPUs of each stage. */
  readonly speeds: readonly number[];
}

/** A little more than the slowest stage of a cut, which sums of floating-point numbers would else exclude from its own bound. */
const ROUNDING = 1 + 1e-9;

/**
 * The cut with the least sum of squared stage times among those without a stage slower than the slowest of `counts`. Where one stage is on a slow GPU, what
 * the others hold does not change the slowest, yet fills and drains the pipeline. Takes stages x layers x layers of a stage operations.
 */
export function evenOutStages(weights: StageWeights, counts: readonly number[]): readonly number[] {
  const { layersS, speeds } = weights;
  const before = [0];
  for (const layerS of layersS) before.push((before.at(-1) ?? 0) + layerS);
  const stageS = (stage: number, from: number, to: number): number =>
    ((before[to] ?? 0) - (before[from] ?? 0) + endsOf(weights, stage)) / (speeds[stage] ?? 1);
  const limitS = slowestS(counts, stageS) * ROUNDING;
  const layers = layersS.length;
  let least = new Float64Array(layers + 1).fill(Infinity);
  least[0] = 0;
  const begins = speeds.map((_, stage) => {
    const next = new Float64Array(layers + 1).fill(Infinity);
    const begin = new Int32Array(layers + 1);
    for (let to = stage + 1; to <= layers; to++) {
      for (let from = to - 1; from >= stage; from--) {
        const seconds = stageS(stage, from, to);
        if (seconds > limitS) break;
        const sum = (least[from] ?? Infinity) + seconds * seconds;
        if (sum < (next[to] ?? Infinity)) {
          next[to] = sum;
          begin[to] = from;
        }
      }
    }
    least = next;
    return begin;
  });
  return (least[layers] ?? Infinity) < Infinity ? countsOf(begins, layers) : counts;
}

function countsOf(begins: readonly Int32Array[], layers: number): readonly number[] {
  const counts: number[] = [];
  let to = layers;
  for (const begin of begins.toReversed()) {
    const from = begin[to] ?? 0;
    counts.unshift(to - from);
    to = from;
  }
  return counts;
}

function slowestS(counts: readonly number[], stageS: (stage: number, from: number, to: number) => number): number {
  let from = 0;
  let slowest = 0;
  for (const [stage, count] of counts.entries()) {
    slowest = Math.max(slowest, stageS(stage, from, from + count));
    from += count;
  }
  return slowest;
}

/** What a stage does beside its layers. */
function endsOf({ embeddingS, lossS, speeds }: StageWeights, stage: number): number {
  return (stage === 0 ? embeddingS : 0) + (stage === speeds.length - 1 ? lossS : 0);
}
