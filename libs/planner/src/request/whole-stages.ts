/** Checks that each pipeline stage fits into one island. */
import type { LayoutViolation } from '@coxswain/layout';
import type { CandidateLayout, ClusterFacts } from '../facts.ts';
import { groupsOf } from '../time/groups.ts';
import { wholeStagesOfIslands } from '../time/islands.ts';

const RULE = 'stage-in-one-island';

/** The violation if a stage must be in one island and is not; else undefined. */
export function brokenStageOf(cluster: ClusterFacts, candidate: CandidateLayout): LayoutViolation | undefined {
  const { islands = [], stagesInOneIsland, gpus } = cluster;
  if (stagesInOneIsland !== true || islands.length === 0) return undefined;
  const { pipeline } = candidate;
  const stage = gpus / pipeline;
  if (pipeline > 1 && groupsOf(candidate).pipeline.stride !== stage) {
    return {
      rule: RULE,
      severity: 'error',
      field: 'rankOrder',
      message: `stagesInOneIsland needs the pipeline last in rankOrder, but it is ${candidate.rankOrder ?? ''}; put the pipeline last`,
    };
  }
  const whole = wholeStagesOfIslands(cluster, candidate);
  if (whole.reduce((sum, stages) => sum + stages, 0) === pipeline) return undefined;
  const rooms = islands.map((island) => island.gpus).join(' and ');
  const held = islands.map((island) => Math.floor(island.gpus / stage)).join(' + ');
  return {
    rule: RULE,
    severity: 'error',
    field: 'pipelineParallelDegree',
    message:
      `islands of ${rooms} GPUs hold ${held} whole stages of ${stage} GPUs, but the pipeline has ${pipeline}; ` +
      'use a pipelineParallelDegree whose stages fit, or leave stagesInOneIsland out',
  };
}
