/** Plans and answers for tests of their consumers. */
import type { Plan, PlanAnswer, Prediction, StageMemory } from '../contract.ts';

export function aStageMemory(stage: number, overrides: Partial<StageMemory> = {}): StageMemory {
  return {
    stage,
    peakGib: 62 - 4 * stage,
    parts: [
      { part: 'weights', gib: 8.5 },
      { part: 'gradients', gib: 17 },
      { part: 'optimizer', gib: 12.5 },
      { part: 'activations', gib: 24 - 4 * stage },
    ],
    ...overrides,
  };
}

export function aPrediction(overrides: Partial<Prediction> = {}): Prediction {
  return {
    stepTimeS: 10,
    interval: { lowS: 9.2, highS: 11.4, coveragePct: 80, standsOn: 'chip', rows: 321 },
    tokensPerSPerGpu: 1638.4,
    modelFlopsUtilizationPct: 43.2,
    breakdown: [
      { part: 'matrixProducts', seconds: 5.5 },
      { part: 'attention', seconds: 1.2 },
      { part: 'memoryBound', seconds: 0.9 },
      { part: 'vocabulary', seconds: 0.4 },
      { part: 'tensorTraffic', seconds: 0.8 },
      { part: 'bubble', seconds: 0.7 },
      { part: 'dataTraffic', seconds: 0.3 },
      { part: 'optimizer', seconds: 0.1 },
      { part: 'fixed', seconds: 0.1 },
    ],
    memory: [0, 1, 2, 3].map((stage) => aStageMemory(stage)),
    peakGib: 62,
    peakInterval: { lowGib: 57.7, highGib: 66.4, coveragePct: 80, standsOn: 'engineFamily', rows: 36 },
    capacityGib: 79.6,
    verdict: 'fits',
    bubbleShare: 0.07,
    error: {
      basis: 'step times of dense models with megatron-lm on GH100 chips',
      medianAbsPct: 4.2,
      p90AbsPct: 14,
      n: 321,
    },
    ...overrides,
  };
}

export function aPlan(overrides: Partial<Plan> = {}): Plan {
  return {
    layout: {
      tensorParallelDegree: 4,
      pipelineParallelDegree: 4,
      dataParallelDegree: 32,
      pipeline: { schedule: 'interleaved-1f1b', chunksPerRank: 2 },
      sequence: { sequenceParallel: true },
      states: { zeroStage: 1, implementation: 'distributed-optimizer' },
    },
    microBatchSize: 1,
    gpus: 512,
    prediction: aPrediction(),
    ...overrides,
  };
}

/** Five plans, each `slower` times the one before, on ever more pipeline stages and less memory. */
export function aPlanAnswer(overrides: Partial<PlanAnswer> = {}): PlanAnswer {
  const plans = [1, 2, 4, 8, 16].map((pipelineParallelDegree, index): Plan => {
    const plan = aPlan();
    return {
      ...plan,
      layout: { ...plan.layout, pipelineParallelDegree, dataParallelDegree: 128 / pipelineParallelDegree },
      prediction: aPrediction({ stepTimeS: 10 * 1.04 ** index, peakGib: 74 - 6 * index }),
    };
  });
  const [best] = plans;
  return {
    ...(best === undefined ? {} : { best }),
    plans,
    pareto: plans,
    ruledOut: [
      { rule: 'heads-divide', count: 9600, example: 'tensorParallelDegree 16 does not divide keyValueHeads 8: use 8' },
      { rule: 'memory', count: 4211, example: 'tp1 x dp512 needs 812.0 GiB of 79.6 GiB' },
    ],
    counted: { enumerated: 51_234, legal: 41_634, fitting: 37_423, bounded: 36_000, timed: 1_423 },
    calibration: 'Fitted on 812 rows of published measurements.',
    assumptions: ['8 GPUs per node as the preset says', 'NIC of 50 GB/s per GPU as the preset says'],
    ...overrides,
  };
}
