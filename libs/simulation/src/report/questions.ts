/** What is asked of a simulation, in words that people use, and what that means for a run. */
import { MAX_STANDBYS } from '@coxswain/api-types';
import { FAILURES, type FailurePreset, type FailurePresetName, SHAPES } from '../presets/failures.ts';
import { faultsPerNodeDay } from '../presets/fault-rate.ts';
import { type Response, RESPONSES, type ResponseName } from '../presets/responses.ts';
import type { RunQuestion } from '../run/training-run.ts';
import { standbyNodes } from './standby-nodes.ts';

const HOURS_PER_DAY = 24;

/** Whatever is absent is as the presets say. */
export interface SimulationQuestion {
  readonly gpus: number;
  readonly days: number;
  readonly failures: FailurePresetName;
  readonly response: ResponseName;
  readonly spareNodes?: number;
  /** Standbys of the job, which are spare nodes that its attempts hold. */
  readonly standbys?: number;
  readonly checkpointIntervalSeconds?: number;
  readonly checkpointStallSeconds?: number;
  readonly detectCrashSeconds?: number;
  readonly detectHangSeconds?: number;
  /** Runs, each with the next seed. */
  readonly seeds: number;
  readonly firstSeed: number;
  /** Rules decide on the gang of all nodes, below switches, rather than on a few that stand for them. */
  readonly everyNode: boolean;
}

/** Nodes of a gang that stands for all. */
const FEW_NODES = 32;

/** The question of one run with this seed. A large job is represented by a gang of few nodes, unless `everyNode` is set. */
export function runQuestion(question: SimulationQuestion, seed: number): RunQuestion {
  const failures: FailurePreset = FAILURES[question.failures];
  const nodes = question.gpus / failures.gpusPerNode;
  const isLeafOutPossible = failures.leafOutageShare > 0;
  const fewNodes = isLeafOutPossible ? 2 * FEW_NODES : FEW_NODES;
  return {
    nodes,
    spareNodes: sparesOf(question),
    standbys: Math.min(question.standbys ?? 0, MAX_STANDBYS),
    days: question.days,
    seed,
    failures,
    response: responseOf(question),
    mostGangNodes: question.everyNode ? nodes : fewNodes,
    hasSwitches: question.everyNode,
  };
}

/** As asked, or as many as a repair time of losses needs. */
export function sparesOf({ gpus, failures, spareNodes }: SimulationQuestion): number {
  if (spareNodes !== undefined) return spareNodes;
  const { gpusPerNode } = FAILURES[failures];
  const perRepair = (faultsPerNodeDay(FAILURES[failures]) * SHAPES.repairHours) / HOURS_PER_DAY;
  return standbyNodes(gpus / gpusPerNode, perRepair);
}

/** Mean time between faults of the whole job, in milliseconds. */
export function meanTimeToFailureMs({ gpus, failures }: SimulationQuestion): number {
  const preset = FAILURES[failures];
  return (HOURS_PER_DAY * 3_600_000) / (faultsPerNodeDay(preset) * (gpus / preset.gpusPerNode));
}

/** The preset of the question, with the times that the question states in place of the preset's. */
export function responseOf(question: SimulationQuestion): Response {
  const response: Response = RESPONSES[question.response];
  const { detectors } = response;
  const { checkpointIntervalSeconds: interval, checkpointStallSeconds: stall } = question;
  const { detectCrashSeconds: crash, detectHangSeconds: hang } = question;
  return {
    ...response,
    checkpointIntervalSeconds: interval ?? response.checkpointIntervalSeconds,
    checkpointStallSeconds: stall ?? response.checkpointStallSeconds,
    detectors: {
      ...detectors,
      crash: { ...detectors.crash, seconds: crash ?? detectors.crash.seconds },
      hang: { ...detectors.hang, seconds: hang ?? detectors.hang.seconds },
    },
  };
}
