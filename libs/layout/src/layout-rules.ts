import type { ParallelLayout } from './parallel-layout.ts';

/** What the layout rules need to know of a model and its batch. */
export interface DividedModel {
  readonly layers: number;
  readonly hiddenSize: number;
  readonly attentionHeads: number;
  readonly globalBatchSize: number;
  readonly microBatchSize: number;
}

/** A broken rule: the field it concerns (relative to the layout), and a sentence with values and the nearest legal value. */
export interface LayoutViolation {
  readonly rule: LayoutRule;
  readonly field: DegreeField;
  readonly message: string;
}

type DegreeField = 'tensorParallelDegree' | 'pipelineParallelDegree' | 'dataParallelDegree';

export type LayoutRule =
  | 'tensorDividesAttentionHeads'
  | 'tensorDividesHiddenSize'
  | 'pipelineDividesLayers'
  | 'dataTimesMicroBatchDividesGlobalBatch';

/** Every rule of the layout that the model breaks, in a fixed order; empty when the layout is legal. */
export function layoutViolations(layout: ParallelLayout, model: DividedModel): readonly LayoutViolation[] {
  const { tensorParallelDegree: tp, dataParallelDegree: dp } = layout;
  const violations: LayoutViolation[] = [];
  const mustDivide = (rule: LayoutRule, field: DegreeField, divisor: [number, string]): void => {
    const [whole, name] = divisor;
    const ways = layout[field];
    if (whole % ways === 0) return;
    const nearest = nearestDivisor(whole, ways);
    violations.push({
      rule,
      field,
      message: `${field} ${ways} does not divide ${name} ${whole}; the nearest that does is ${nearest}`,
    });
  };
  mustDivide('tensorDividesAttentionHeads', 'tensorParallelDegree', [model.attentionHeads, 'attentionHeads']);
  if (model.attentionHeads % tp === 0) {
    mustDivide('tensorDividesHiddenSize', 'tensorParallelDegree', [model.hiddenSize, 'hiddenSize']);
  }
  mustDivide('pipelineDividesLayers', 'pipelineParallelDegree', [model.layers, 'layers']);
  const samplesPerPass = dp * model.microBatchSize;
  if (model.globalBatchSize % samplesPerPass !== 0) {
    const microBatches = model.globalBatchSize / model.microBatchSize;
    const hint = Number.isInteger(microBatches)
      ? `the nearest dataParallelDegree that does is ${nearestDivisor(microBatches, dp)}`
      : `microBatchSize ${model.microBatchSize} alone does not divide it either; change one of the batch sizes`;
    violations.push({
      rule: 'dataTimesMicroBatchDividesGlobalBatch',
      field: 'dataParallelDegree',
      message:
        `dataParallelDegree ${dp} times microBatchSize ${model.microBatchSize} is ${samplesPerPass}, ` +
        `which does not divide globalBatchSize ${model.globalBatchSize}; ${hint}`,
    });
  }
  return violations;
}

/** The divisor of `whole` closest to `wanted`; the smaller of two equally close ones. */
function nearestDivisor(whole: number, wanted: number): number {
  let nearest = 1;
  for (let candidate = 1; candidate <= whole; candidate++) {
    if (whole % candidate === 0 && Math.abs(candidate - wanted) < Math.abs(nearest - wanted)) nearest = candidate;
  }
  return nearest;
}
