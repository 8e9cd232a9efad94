import type { GridPoint } from '../grid-point.ts';
import type { LayoutFacts } from '../layout-facts.ts';
import { divisorsOf, nearest, nearestMultiple } from '../nearest.ts';
import { servesSoftmax, softmaxOf } from './context-algorithm-of.ts';
import { divides, type GridRule, wholePart } from './grid-rule.ts';

const MEGATRON = 'Megatron-LM';
const TRANSFORMER_ENGINE = 'Transformer Engine';

/** Rules about what context ranks split. */
export const contextDegreeRules: readonly GridRule[] = [
  divides({
    name: 'contextDividesStateSpaceHeads',
    source: MEGATRON,
    statement: 'contextParallelDegree divides stateSpace.heads / tensorParallelDegree',
    field: 'contextParallelDegree',
    ways: (point) => point.context,
    whole: (point, facts) => wholePart(facts.stateSpace?.heads, point.tensor),
    wholeName: 'stateSpace.heads / tensorParallelDegree',
  }),
  {
    name: 'contextDividesSequence',
    source: MEGATRON,
    statement:
      'contextParallelDegree divides sequenceLength; if each rank takes an early and a late piece, twice the degree divides it',
    holds: (point, { sequenceLength }) =>
      point.context === 1 || sequenceLength === undefined || sequenceLength % pieces(point) === 0,
    explain: (point, { sequenceLength = 1 }) => {
      const each = pieces(point) / point.context;
      const legal = divisorsOf(sequenceLength).filter((ways) => sequenceLength % (ways * each) === 0);
      return {
        field: 'contextParallelDegree',
        message:
          `contextParallelDegree ${point.context} cuts a sample into ${pieces(point)} pieces, which do not divide ` +
          `sequenceLength ${sequenceLength}; the nearest contextParallelDegree that does is ${nearest(legal, point.context) ?? 1}, ` +
          `the nearest sequenceLength ${nearestMultiple(pieces(point), sequenceLength)}`,
      };
    },
  },
  {
    name: 'sequenceParallelDividesSequence',
    source: MEGATRON,
    statement: 'with sequenceParallel, tensorParallelDegree divides the tokens of a context rank',
    holds: (point, { sequenceLength }) =>
      !point.sequenceParallel || sequenceLength === undefined || sequenceLength % (point.tensor * point.context) === 0,
    explain: (point, { sequenceLength = 1 }) => ({
      field: 'sequence/sequenceParallel',
      message:
        `sequence.sequenceParallel needs sequenceLength ${sequenceLength} to be a multiple of tensorParallelDegree ` +
        `${point.tensor} times contextParallelDegree ${point.context}; the nearest is ` +
        `${nearestMultiple(point.tensor * point.context, sequenceLength)}`,
    }),
  },
  {
    name: 'ulyssesDividesHeads',
    source: `${TRANSFORMER_ENGINE}; DeepSpeed also accepts a degree that is a multiple of keyValueHeads`,
    statement: 'with ulysses, contextParallelDegree divides the attentionHeads and keyValueHeads of a tensor rank',
    holds: (point, facts) => point.contextAlgorithm !== 'ulysses' || headsDividedBy(point, facts, point.context),
    explain: (point, facts) => {
      const legal = divisorsOf(point.context).filter((ways) => headsDividedBy(point, facts, ways));
      const inner = legal.at(-1) ?? 1;
      const ring =
        inner > 1
          ? `, or use contextAlgorithm ulysses-ring with ulyssesDegree ${inner} and a ring of ${point.context / inner}`
          : ', or use contextAlgorithm ring';
      return {
        field: 'contextParallelDegree',
        message:
          `contextParallelDegree ${point.context} with contextAlgorithm ulysses does not divide ${localHeads(point, facts)}; ` +
          `the largest of its divisors that does is ${inner}` +
          (servesSoftmax('ring', softmaxOf(facts)) ? ring : ''),
      };
    },
  },
  {
    name: 'ulyssesRingFactors',
    source: `${MEGATRON} (--hierarchical-context-parallel-sizes), ${TRANSFORMER_ENGINE}`,
    statement: 'ulysses-ring needs a ulyssesDegree that divides contextParallelDegree and the heads of a tensor rank',
    holds: (point, facts) =>
      point.contextAlgorithm !== 'ulysses-ring' ||
      point.context === 1 ||
      (point.ulyssesDegree !== undefined &&
        point.context % point.ulyssesDegree === 0 &&
        headsDividedBy(point, facts, point.ulyssesDegree)),
    explain: (point, facts) => {
      const legal = divisorsOf(point.context).filter((ways) => headsDividedBy(point, facts, ways));
      return {
        field: 'sequence/ulyssesDegree',
        message:
          `sequence.ulyssesDegree ${point.ulyssesDegree ?? '(absent)'} must divide contextParallelDegree ${point.context} and ` +
          `${localHeads(point, facts)}; the nearest that does is ${nearest(legal, point.ulyssesDegree ?? point.context) ?? 1}`,
      };
    },
  },
];

function pieces(point: GridPoint): number {
  return point.contextBalanced === false ? point.context : 2 * point.context;
}

function headsDividedBy(point: GridPoint, facts: LayoutFacts, ways: number): boolean {
  const heads = wholePart(facts.attentionHeads, point.tensor);
  const groups = Math.max(1, (facts.keyValueHeads ?? facts.attentionHeads ?? 0) / point.tensor);
  if (heads === undefined) return true;
  if (heads % ways !== 0) return false;
  const spreads = facts.engine === 'deepspeed' || facts.engine === 'megatron-deepspeed';
  return groups % ways === 0 || (spreads && ways % groups === 0);
}

function localHeads(point: GridPoint, facts: LayoutFacts): string {
  const { attentionHeads = 0, keyValueHeads = attentionHeads } = facts;
  const share = point.tensor === 1 ? '' : ` divided by tensorParallelDegree ${point.tensor}`;
  return `attentionHeads ${attentionHeads} and keyValueHeads ${keyValueHeads}${share}`;
}
