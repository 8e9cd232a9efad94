import type { CandidateLayout, ClusterFacts, RunFacts } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { aCluster, aRun } from '../testing/runs.ts';
import { hostOptimizerS } from './host-optimizer.ts';

const BILLION = 1e9;
/** 2 GB/s over PCIe, 8 GPUs a node. */
const GPU = { ...gpuOf('h100'), pcieGbPerS: 2 };
/** The 8 ranks of a node share 72 GB/s: 36 bytes of each of a billion parameters a rank. */
const SHARED_BY_EIGHT_S = (8 * 36) / 72;

type Facts = Partial<Omit<RunFacts, 'candidate' | 'model'>>;
const cluster = (gpus: number, pcieGbPerS = 2): ClusterFacts => aCluster(gpus, { gpu: { ...GPU, pcieGbPerS } });
const deepspeed = (zeroStage: 1 | 2 | 3): Partial<CandidateLayout> => ({ zeroStage, zeroImplementation: 'deepspeed' });

describe('the host step of a billion parameters', () => {
  it.each<[string, Partial<CandidateLayout>, Facts, number]>([
    ['moves a gradient of 2 bytes and a weight of 2 bytes', { zeroStage: 1 }, {}, 4 / 2 + 24 / 15],
    ['moves them once for four micro-batches', { zeroStage: 1 }, { globalBatchSize: 4 }, 4 / 2 + 24 / 15],
    ['moves both in fp32 with ZeRO-1 of DeepSpeed', deepspeed(1), { globalBatchSize: 4 }, 8 / 2 + SHARED_BY_EIGHT_S],
    ['and with its ZeRO-2 and one micro-batch', deepspeed(2), { globalBatchSize: 1 }, 8 / 2 + SHARED_BY_EIGHT_S],
    [
      'moves the sum up and down between four micro-batches of its ZeRO-2',
      deepspeed(2),
      { globalBatchSize: 4 },
      (8 + 3 * 4) / 2 + SHARED_BY_EIGHT_S,
    ],
    [
      'moves it up and down for each of four of its ZeRO-3, with weights of 2 bytes',
      deepspeed(3),
      { globalBatchSize: 4 },
      (4 + 2 + 4 * 4) / 2 + SHARED_BY_EIGHT_S,
    ],
    [
      'takes an eighth of the CPU where one rank has the node for itself',
      deepspeed(1),
      { globalBatchSize: 1, cluster: cluster(1) },
      8 / 2 + SHARED_BY_EIGHT_S / 8,
    ],
    [
      'copies at 4.2 GB/s from memory that is not page-locked, whatever PCIe can do',
      deepspeed(1),
      { globalBatchSize: 1, cluster: cluster(8, 64), pageableHostMemory: true },
      8 / 4.2 + SHARED_BY_EIGHT_S,
    ],
    [
      'and never faster than PCIe',
      deepspeed(1),
      { globalBatchSize: 1, pageableHostMemory: true },
      8 / 2 + SHARED_BY_EIGHT_S,
    ],
  ])('%s', (_sentence, candidate, facts, want) => {
    expect(hostOptimizerS(aRun({ candidate, cluster: cluster(8), ...facts }), BILLION)).toBeCloseTo(want, 9);
  });

  it('is nothing where no states are on the host', () => {
    expect(hostOptimizerS(aRun({ candidate: deepspeed(3) }), 0)).toBe(0);
  });
});

describe('steps of Qwen3-30B-A3B on 16 H100, published with parts of the optimizer on the host', () => {
  const WITHOUT_S = 0.996;
  const PARAMETERS_OF_RANK = 30.5e9 / 16;
  const run = aRun({ candidate: { zeroStage: 1 }, cluster: aCluster(16) });

  /** The rate of the host was solved from the last row alone. */
  it.each([
    [0.25, 1.871, -4.4],
    [0.5, 2.484, 3.9],
    [0.75, 3.187, 5.8],
    [1, 4.189, -0.6],
  ])('%d of it: %d s measured, %d %% off', (share, measuredS, offPct) => {
    const predictedS = WITHOUT_S + hostOptimizerS(run, share * PARAMETERS_OF_RANK);
    expect(100 * (predictedS / measuredS - 1)).toBeCloseTo(offPct, 1);
  });
});
