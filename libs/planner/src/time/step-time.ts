/** Predicts the time of one training step. */
import type { RunFacts } from '../facts.ts';
import { makespanOf } from '../schedule/makespan.ts';
import { newScheduleScratch, type ScheduleScratch } from '../schedule/schedule-scratch.ts';
import { rankOfStage } from '../stages.ts';
import { PARTS, type Part } from './block-cost.ts';
import type { TimeConstants } from './constants.ts';
import { kernelFacts, type KernelFacts } from './kernels.ts';
import { relativeSpeedsOf } from './islands.ts';
import { microBatchesOf, pipelineWorkOf, scheduleInputOf, workTrafficS, type PipelineWork } from './pipeline-work.ts';
import { blockCostsOf, type BlockCosts } from './stage-cost.ts';
import { optimizerS } from './states.ts';

/** Parts of a step in the order they are shown. */
export const STEP_PARTS = [
  ...PARTS,
  'offload',
  'bubble',
  'dataTraffic',
  'optimizer',
  'fixed',
] as const satisfies readonly string[];
/** A part of the step time. */
export type StepPart = Part | 'offload' | 'bubble' | 'dataTraffic' | 'optimizer' | 'fixed';

/** A predicted step time. */
export interface StepTime {
  readonly stepTimeS: number;
  /** Seconds on the slowest rank; the sum is `stepTimeS`. */
  readonly partsS: Readonly<Record<StepPart, number>>;
  /** Share of the step in which the slowest rank waits for other stages. */
  readonly bubbleShare: number;
}

/** The seconds that add up to a step. */
export interface StepSeconds {
  readonly pipelineS: number;
  readonly dataS: number;
  readonly optimizerS: number;
  readonly fixedS: number;
  readonly stepTimeS: number;
}

/** Seconds of a step besides its pipeline, for every schedule. */
export interface StateSeconds {
  readonly dataS: number;
  readonly optimizerS: number;
}

/** Seconds for gradients, weights and the optimizer. */
export function stateSecondsOf(
  run: RunFacts,
  work: Pick<PipelineWork, 'held' | 'heldIn' | 'windows'>,
  { constants, kernels }: { readonly constants: TimeConstants; readonly kernels: KernelFacts },
): StateSeconds {
  return { dataS: workTrafficS(run, work, constants), optimizerS: optimizerS(run, work.held, kernels) };
}

/** A step whose pipeline takes `makespanS`: with gradients, optimizer, fixed work, and waits that grow with the machine. */
export function stepSecondsOf(
  run: Pick<RunFacts, 'candidate' | 'cluster' | 'stepsPerCollection'>,
  { dataS, optimizerS: stepOptimizerS }: StateSeconds,
  makespanS: number,
  constants: TimeConstants,
): StepSeconds {
  const { candidate, cluster } = run;
  const pipelineS = makespanS * (1 + constants.stageImbalance * Math.log2(candidate.pipeline));
  const nodes = Math.max(1, cluster.gpus / cluster.gpusPerNode);
  const worldS = (pipelineS + dataS + stepOptimizerS) * constants.jitterPerDoubling * Math.log2(nodes);
  const garbageS = run.stepsPerCollection === undefined ? 0 : constants.garbageS / run.stepsPerCollection;
  const fixedS = constants.stepOverheadS + garbageS + worldS;
  const seconds = pipelineS + dataS + stepOptimizerS + fixedS;
  return { pipelineS, dataS, optimizerS: stepOptimizerS, fixedS, stepTimeS: seconds };
}

/** Seconds of one step: the simulated pipeline on the predicted passes of every stage, then gradients, optimizer and fixed work. */
export function predictStepTime(
  run: RunFacts,
  constants: TimeConstants,
  options: { readonly kept?: BlockCosts; readonly scratch?: ScheduleScratch } = {},
): StepTime {
  const work = pipelineWorkOf(run, options.kept ?? blockCostsOf(run, constants), constants);
  const input = scheduleInputOf(run, work, constants);
  const busyS = microBatchesOf(run) * work.busyS;
  const makespanS = run.candidate.pipeline === 1 ? busyS : makespanOf(input, options.scratch ?? newScheduleScratch());
  const kernels = kernelFacts(run.cluster.gpu, run.precision, constants, run.tf32);
  const step = stepSecondsOf(run, stateSecondsOf(run, work, { constants, kernels }), makespanS, constants);
  const partsS = Object.fromEntries(STEP_PARTS.map((part) => [part, 0])) as Record<StepPart, number>;
  addPartsOfRank(run, work, partsS);
  partsS.bubble = step.pipelineS - busyS;
  partsS.dataTraffic = step.dataS;
  partsS.optimizer = step.optimizerS;
  partsS.fixed = step.fixedS;
  return {
    stepTimeS: step.stepTimeS,
    partsS,
    bubbleShare: partsS.bubble / step.stepTimeS,
  };
}

/** Where the slowest rank's time goes, over all micro-batches. */
function addPartsOfRank(run: RunFacts, work: PipelineWork, partsS: Record<StepPart, number>): void {
  const { schedule, stages, slowestRank } = work;
  const shape = { pipeline: run.candidate.pipeline, schedule };
  const times = microBatchesOf(run) / (relativeSpeedsOf(run)[slowestRank] ?? 1);
  stages.kindOfStage.forEach((kind, stage) => {
    const cost = work.costs[kind];
    if (cost === undefined || rankOfStage(shape, stage) !== slowestRank) return;
    PARTS.forEach((part, index) => {
      partsS[part] += times * (cost.partsS[index] ?? 0);
    });
    partsS.offload += times * 2 * cost.offloadS;
  });
}
