/** The facts of a layout that a prediction is made with. Tests compare them with what engine adapters render. */
import {
  type ModelShape,
  type ParallelLayout,
  resolveGradientPrecision,
  resolveMomentPrecision,
} from '@coxswain/layout';
import type { CandidateLayout, Precision, RunFacts } from '../facts.ts';
import { ADAM_MOMENT_BYTES } from '../memory/states.ts';
import { bytesOfGradient, namedEngineOf } from '../request/engine-choices.ts';
import { candidateOfLayout } from '../request/layout-conversion.ts';
import { layoutForModels } from './layout-for-engine.ts';

/** Options and formats that memory and time of a layout depend on. */
export type PricedFacts = CandidateLayout & Required<Pick<RunFacts, 'precision' | 'gradientBytes' | 'momentBytes'>>;

/** What a layout is priced with on the engine of a stack. `precision` is that of the job; a layout can state a narrower one. */
export function pricedFacts(
  { stack, model, precision }: { readonly stack: string; readonly model: ModelShape; readonly precision: Precision },
  { layout, microBatchSize }: { readonly layout: ParallelLayout; readonly microBatchSize: number },
): PricedFacts {
  return {
    momentBytes: ADAM_MOMENT_BYTES,
    ...formatsOfLayout(stack, layout, precision),
    ...candidateOfLayout(layoutForModels(stack, layout, model.layers), model, microBatchSize),
  };
}

/** Formats of products, gradients and moments, as engine adapters render them. */
export function formatsOfLayout(
  stack: string,
  layout: ParallelLayout,
  ofJob: Precision,
): Pick<RunFacts, 'precision' | 'gradientBytes' | 'momentBytes'> {
  const precision = layout.kernel?.precision ?? ofJob;
  const moments = BYTES_OF_MOMENTS[resolveMomentPrecision(layout)];
  return {
    precision,
    gradientBytes: bytesOfGradient(resolveGradientPrecision(namedEngineOf(stack), layout, precision)),
    ...(moments === ADAM_MOMENT_BYTES ? {} : { momentBytes: moments }),
  };
}

const BYTES_OF_MOMENTS = { fp32: ADAM_MOMENT_BYTES, bf16: 4, fp16: 4, fp8: 2 } as const;
