/** Load of every rank of a pipeline: its layers, and the micro-batches of each in flight at the memory peak. */
import type { ModelShape } from '@coxswain/layout';

import type { CandidateLayout, StagePart } from '../facts.ts';
import { peakInFlight } from '../schedule/in-flight.ts';
import { rankOfStage, stagePartsOf } from '../stages.ts';
import { parametersOf } from './parameters.ts';

/** One rank's load. Arrays are indexed by layer kind (`ModelParameters.kinds`). */
export interface RankLoad {
  readonly layers: readonly number[];
  /** Sum over layers of the micro-batches whose activations are kept, of layers that keep what `recompute` says. */
  readonly inFlight: readonly number[];
  /** The same of layers that keep their input only (`recomputeLayersPerChunk`). */
  readonly inFlightFully: readonly number[];
  readonly embedding: boolean;
  readonly loss: boolean;
  readonly mtpLayers: number;
  /** Micro-batches in flight in the last chunk of this rank. */
  readonly mtpInFlight: number;
  /** Micro-batches in flight in the first chunk of this rank. */
  readonly firstInFlight: number;
  /** Sum over the chunks of this rank of the micro-batches in flight. */
  readonly stagesInFlight: number;
}

type PipelineChoices = Pick<CandidateLayout, 'pipeline' | 'chunks' | 'schedule' | 'vocabulary' | 'vocabularyBarriers'>;

/**
 * Micro-batches of one chunk in flight on a pipeline rank at its memory peak; a fraction where a schedule balances two chunks.
 *
 * A vocabulary spread over the pipeline holds a micro-batch until its synchronisations are over, an interlaced one waits for half a pipeline
 * (vocabulary parallelism, arXiv 2411.05288, section 5).
 */
export function microBatchesInFlight(
  candidate: PipelineChoices,
  rank: number,
  chunk: number,
  microBatches: number,
): number {
  const { pipeline, chunks, schedule, vocabulary } = candidate;
  if (pipeline === 1) return 1;
  const all = peakInFlight({ schedule, pipeline, chunks, microBatches }, rank);
  const held = schedule === 'interleaved-1f1b' ? ofChunk(all, candidate, chunk) : all / chunks;
  if (vocabulary === 'sharded-over-pp') return Math.min(microBatches, held + candidate.vocabularyBarriers);
  return Math.min(microBatches, vocabulary === 'interlaced' ? 1.5 * held : held);
}

/** Interleaving warms the chunks up in turn, `pipeline` micro-batches at a time. */
function ofChunk(all: number, { pipeline, chunks }: PipelineChoices, chunk: number): number {
  const round = pipeline * chunks;
  const rest = all % round;
  return Math.floor(all / round) * pipeline + Math.min(pipeline, Math.max(0, rest - chunk * pipeline));
}

interface MutableLoad {
  layers: number[];
  inFlight: number[];
  inFlightFully: number[];
  embedding: boolean;
  loss: boolean;
  mtpLayers: number;
  mtpInFlight: number;
  firstInFlight: number;
  stagesInFlight: number;
}

function computeLoads(model: ModelShape, candidate: CandidateLayout, microBatches: number): readonly RankLoad[] {
  const { kinds, kindOfLayer } = parametersOf(model);
  const none = (): number[] => kinds.map(() => 0);
  const loads: MutableLoad[] = Array.from({ length: candidate.pipeline }, () => ({
    layers: none(),
    inFlight: none(),
    inFlightFully: none(),
    embedding: false,
    loss: false,
    mtpLayers: 0,
    mtpInFlight: 0,
    firstInFlight: 0,
    stagesInFlight: 0,
  }));
  let layer = 0;
  stagePartsOf(model, candidate).forEach((part, stage) => {
    const rank = rankOfStage(candidate, stage);
    const chunk = Math.floor(stage / candidate.pipeline);
    const load = loads[rank];
    if (load === undefined) return;
    const held = microBatchesInFlight(candidate, rank, chunk, microBatches);
    const fully = candidate.recompute === 'full' ? (candidate.recomputeLayersPerChunk ?? part.layers) : 0;
    for (let index = 0; index < part.layers; index += 1, layer += 1) {
      const kind = kindOfLayer[layer] ?? 0;
      load.layers[kind] = (load.layers[kind] ?? 0) + 1;
      const target = index < fully ? load.inFlightFully : load.inFlight;
      target[kind] = (target[kind] ?? 0) + held;
    }
    load.embedding ||= part.embedding;
    load.loss ||= part.loss;
    load.mtpLayers += part.mtpLayers;
    if (part.mtpLayers > 0) load.mtpInFlight = held;
    if (chunk === 0) load.firstInFlight = held;
    load.stagesInFlight += held;
  });
  return loads;
}

/** The load of every pipeline rank in order, and the ranks that can have the highest peak. */
export interface PipelineLoad {
  readonly ranks: readonly RankLoad[];
  /** Ranks that no other rank exceeds: none holds at least as much of everything. The first of equals stands for all. */
  readonly heaviest: readonly RankLoad[];
}

function holdsNoMore(a: RankLoad, b: RankLoad): boolean {
  const under = (low: readonly number[], high: readonly number[]): boolean =>
    low.every((value, index) => value <= (high[index] ?? 0));
  return (
    under(a.layers, b.layers) &&
    under(a.inFlight, b.inFlight) &&
    under(a.inFlightFully, b.inFlightFully) &&
    (b.embedding || !a.embedding) &&
    (b.loss || !a.loss) &&
    a.mtpLayers <= b.mtpLayers &&
    a.mtpInFlight <= b.mtpInFlight &&
    a.firstInFlight <= b.firstInFlight &&
    a.stagesInFlight <= b.stagesInFlight
  );
}

function heaviestOf(ranks: readonly RankLoad[]): readonly RankLoad[] {
  const heaviest: RankLoad[] = [];
  for (const load of ranks) {
    if (heaviest.some((other) => holdsNoMore(load, other))) continue;
    const kept = heaviest.filter((other) => !holdsNoMore(other, load));
    heaviest.splice(0, heaviest.length, ...kept, load);
  }
  return heaviest;
}

/** Loads by what they depend on, kept per model and stage list: a search meets one pipeline under thousands of other choices. */
interface KnownLoads {
  readonly even: Map<string, PipelineLoad>;
  readonly explicit: WeakMap<readonly StagePart[], Map<string, PipelineLoad>>;
}

const known = new WeakMap<ModelShape, KnownLoads>();

function knownLoadsOf(model: ModelShape, stages: readonly StagePart[] | undefined): Map<string, PipelineLoad> {
  let ofModel = known.get(model);
  if (ofModel === undefined) {
    ofModel = { even: new Map(), explicit: new WeakMap() };
    known.set(model, ofModel);
  }
  if (stages === undefined) return ofModel.even;
  let ofStages = ofModel.explicit.get(stages);
  if (ofStages === undefined) {
    ofStages = new Map();
    ofModel.explicit.set(stages, ofStages);
  }
  return ofStages;
}

/** The load of a pipeline with `microBatches` per step and data-parallel replica. */
export function pipelineLoadOf(model: ModelShape, candidate: CandidateLayout, microBatches: number): PipelineLoad {
  const loads = knownLoadsOf(model, candidate.stages);
  const counted =
    candidate.schedule === 'gpipe' ? microBatches : Math.min(microBatches, 2 * candidate.pipeline * candidate.chunks);
  const fully = candidate.recompute === 'full' ? (candidate.recomputeLayersPerChunk ?? 'all') : 0;
  const vocabulary = `${candidate.vocabulary}${candidate.vocabularyBarriers}`;
  const key = `${candidate.pipeline}/${candidate.chunks}/${candidate.schedule}/${vocabulary}/${counted}/${fully}`;
  const before = loads.get(key);
  if (before !== undefined) return before;
  const ranks = computeLoads(model, candidate, counted);
  const computed = { ranks, heaviest: heaviestOf(ranks) };
  loads.set(key, computed);
  return computed;
}
