/** How the layers of a row are spread over its virtual stages, where that is stated or follows from the numbers. */
import type { ModelShape } from '@coxswain/layout';
import type { CandidateLayout, StagePart } from '@coxswain/planner';
import { Unpredicted } from './filled-values.ts';
import { stagesOfLayoutText } from './pipeline-layout.ts';
import type { StatedFacts } from './stated-facts.ts';

type StageFacts = Pick<CandidateLayout, 'stages' | 'vocabulary' | 'vocabularyBarriers'>;

/** @throws Unpredicted when a stated layout does not fit the model */
export function stagesOfRow(model: ModelShape, virtualStages: number, facts: StatedFacts): StageFacts {
  const barriers = facts.vocabulary === 'vocab1' ? 2 : 1;
  const stages = checked(statedStages(model, virtualStages, facts), model, virtualStages);
  const parted = {
    ...(stages === undefined ? {} : { stages }),
    vocabularyBarriers: barriers,
  } as const;
  if (facts.vocabulary === 'vocab1' || facts.vocabulary === 'vocab2')
    return { ...parted, vocabulary: 'sharded-over-pp' };
  if (facts.vocabulary === 'interlaced') return { ...parted, vocabulary: 'interlaced' };
  return { ...parted, vocabulary: countsEnds(model, virtualStages, facts) ? 'counted-as-layer' : 'end-stages' };
}

function statedStages(model: ModelShape, count: number, facts: StatedFacts): readonly StagePart[] | undefined {
  if (count === 1) return undefined;
  if (facts.stageText !== undefined) return fromText(facts.stageText, model);
  if (facts.stageUnits?.length === count) return fromUnits(facts.stageUnits, model);
  if (facts.vocabulary === 'redis') return withLayers(redistributed(model, count), model);
  if (countsEnds(model, count, facts)) return withLayers(withShortEnds(model.layers, count), model);
  return model.layers % count === 0 ? undefined : withLayers(withShortLast(model.layers, count), model);
}

function fromText(text: string, model: ModelShape): readonly StagePart[] {
  try {
    const stages = stagesOfLayoutText(text);
    const named = stages.some((stage) => stage.mtpLayers > 0);
    const last = stages.length - 1;
    if (named || model.mtpLayers === 0) return stages;
    return stages.map((stage, index) => (index === last ? { ...stage, mtpLayers: model.mtpLayers } : stage));
  } catch (error) {
    throw new Unpredicted(error instanceof Error ? error.message : String(error));
  }
}

function fromUnits(units: readonly number[], model: ModelShape): readonly StagePart[] {
  const last = units.length - 1;
  return withLayers(
    units.map((unit, index) => unit - (index === 0 ? 1 : 0) - (index === last ? 1 : 0)),
    model,
  );
}

/** Embedding and loss take the place of a layer each: stated, or the only way that the layers divide. */
function countsEnds(model: ModelShape, count: number, facts: StatedFacts): boolean {
  if (count === 1 || facts.stageText !== undefined || facts.stageUnits !== undefined) return false;
  if (facts.endsHoldOneLayerFewer) return (model.layers + 2) % count === 0;
  return facts.vocabulary === undefined && model.layers % count !== 0 && (model.layers + 2) % count === 0;
}

function withShortEnds(layers: number, count: number): readonly number[] {
  const middle = (layers + 2) / count;
  return Array.from({ length: count }, (_, index) => (index === 0 || index === count - 1 ? middle - 1 : middle));
}

/**
 * Equal stages but for the last, which takes what is left; where even the last has to hold nothing the first holds fewer too
 * (`Et|(tt|)*30mL`). Spread evenly where that is not enough.
 */
function withShortLast(layers: number, count: number): readonly number[] {
  const full = Math.ceil(layers / count);
  const left = layers - full * (count - 1);
  if (left >= 0) return [...Array.from({ length: count - 1 }, () => full), left];
  if (full + left > 0) return [full + left, ...Array.from({ length: count - 2 }, () => full), 0];
  const longer = layers - Math.floor(layers / count) * count;
  return Array.from({ length: count }, (_, index) => Math.floor(layers / count) + (index < longer ? 1 : 0));
}

/**
 * Layers moved away from the last stage until the longest stage is shortest, by FLOPs: a layer counts 72 h + 12 s, the output layer 6 V
 * (per token and hidden unit; vocabulary parallelism, arXiv 2411.05288). Longer stages stand last, where fewer micro-batches are in flight.
 */
function redistributed(model: ModelShape, count: number): readonly number[] {
  const { layers, hiddenSize, vocabularySize } = model;
  const output = (6 * vocabularySize) / (72 * hiddenSize);
  let best = { longest: Infinity, last: 0 };
  for (let last = Math.floor(layers / count); last >= 0; last--) {
    const longest = Math.max(Math.ceil((layers - last) / (count - 1)), last + output);
    if (longest < best.longest) best = { longest, last };
  }
  const others = layers - best.last;
  const longer = others % (count - 1);
  const base = Math.floor(others / (count - 1));
  return [...Array.from({ length: count - 1 }, (_, index) => base + (index >= count - 1 - longer ? 1 : 0)), best.last];
}

function withLayers(layers: readonly number[], model: ModelShape): readonly StagePart[] {
  const last = layers.length - 1;
  return layers.map((count, index) => ({
    layers: count,
    embedding: index === 0,
    loss: index === last,
    mtpLayers: index === last ? model.mtpLayers : 0,
  }));
}

function checked(
  stages: readonly StagePart[] | undefined,
  model: ModelShape,
  count: number,
): readonly StagePart[] | undefined {
  if (stages === undefined) return undefined;
  const layers = stages.reduce((sum, stage) => sum + stage.layers, 0);
  if (stages.length !== count)
    throw new Unpredicted('the stated stage layout has another number of stages than pp x vpp');
  if (layers !== model.layers)
    throw new Unpredicted('the stated stage layout has another number of layers than the model');
  if (stages.some((stage) => stage.layers < 0)) throw new Unpredicted('a stage would hold less than no layer');
  return stages;
}
