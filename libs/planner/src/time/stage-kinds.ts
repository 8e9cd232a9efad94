/** Kinds of pipeline stages; stages of one kind have equal costs. */
import type { ModelShape } from '@coxswain/layout';
import type { CandidateLayout, StagePart } from '../facts.ts';
import { parametersOf } from '../memory/parameters.ts';
import { stagePartsOf } from '../stages.ts';
import { blocksOfStages, type StageBlocks } from './stage-blocks.ts';

/** What one virtual stage holds; `layersOfKind` is indexed by layer kind (`ModelParameters.kinds`). */
export interface StageKind extends StageBlocks {
  readonly layers: number;
  readonly layersOfKind: readonly number[];
}

/** The kinds of stages of a pipeline, and the kind of each stage. */
export interface StageKinds {
  readonly kinds: readonly StageKind[];
  /** Index into `kinds` for every virtual stage. */
  readonly kindOfStage: readonly number[];
}

type Pipeline = Pick<CandidateLayout, 'pipeline' | 'chunks' | 'stages' | 'vocabulary'>;

/** Kept per model and stage list: a search meets one pipeline under thousands of other choices. */
interface Known {
  readonly ruled: Map<string, StageKinds>;
  readonly listed: WeakMap<readonly StagePart[], StageKinds>;
}

const known = new WeakMap<ModelShape, Known>();

/** The stage kinds of a pipeline. */
export function stageKindsOf(model: ModelShape, pipeline: Pipeline): StageKinds {
  let ofModel = known.get(model);
  if (ofModel === undefined) {
    ofModel = { ruled: new Map(), listed: new WeakMap() };
    known.set(model, ofModel);
  }
  const key = `${pipeline.pipeline * pipeline.chunks}/${pipeline.vocabulary}`;
  const before = pipeline.stages === undefined ? ofModel.ruled.get(key) : ofModel.listed.get(pipeline.stages);
  if (before !== undefined) return before;
  const kinds = computeKinds(model, stagePartsOf(model, pipeline));
  if (pipeline.stages === undefined) ofModel.ruled.set(key, kinds);
  else ofModel.listed.set(pipeline.stages, kinds);
  return kinds;
}

function computeKinds(model: ModelShape, stages: readonly StagePart[]): StageKinds {
  const { kinds: layerKinds, kindOfLayer } = parametersOf(model);
  const kinds: StageKind[] = [];
  const indexOf = new Map<string, number>();
  let next = 0;
  const kindOfStage = blocksOfStages(model, stages).map((blocks, stage) => {
    const layers = stages[stage]?.layers ?? 0;
    const layersOfKind = layerKinds.map(() => 0);
    for (const kind of kindOfLayer.slice(next, next + layers)) layersOfKind[kind] = (layersOfKind[kind] ?? 0) + 1;
    next += layers;
    const kind: StageKind = { ...blocks, layers, layersOfKind };
    const key = JSON.stringify(kind);
    const index = indexOf.get(key) ?? kinds.push(kind) - 1;
    indexOf.set(key, index);
    return index;
  });
  return { kinds, kindOfStage };
}
