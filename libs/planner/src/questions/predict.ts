/** What does a layout that somebody names take? */
import { DomainError } from '@coxswain/domain-error';
import { layoutViolations, type LayoutViolation } from '@coxswain/layout';
import type { RunFacts } from '../facts.ts';
import type { AskedLayout, PlanRequest, PlanRequestInput, Prediction } from '../contract.ts';
import { pointOfLayout } from '../request/layout-conversion.ts';
import { predictRun } from '../answer/predict-run.ts';
import { planRequestOf, runBaseOf } from '../request/run-base.ts';
import { layoutFactsOf } from '../search/run-models.ts';

/**
 * Time and memory of one layout on the cluster of the request.
 *
 * @throws DomainError INVALID_REQUEST; INVALID_LAYOUT with every broken rule, or with what the models do not cover.
 */
export function predict(input: PlanRequestInput, asked: AskedLayout): Prediction {
  const request = planRequestOf(input);
  const broken = brokenRulesOf(request, asked);
  const [first] = broken;
  if (first !== undefined) {
    const violations = broken.map(({ field, message }) => ({ pointer: `/layout/${field}`, detail: message }));
    throw new DomainError('INVALID_LAYOUT', `layout: ${first.message}`, violations);
  }
  return predictRun(runOfLayout(request, asked), request.memoryMarginShare);
}

/** Every rule that a layout breaks with the request's model, batch, engine and number of GPUs. */
export function brokenRulesOf(request: PlanRequest, asked: AskedLayout): readonly LayoutViolation[] {
  return layoutViolations(asked.layout, layoutFactsOf(runBaseOf(request), asked.microBatchSize));
}

/** The run of a legal layout. What the layout says of kernels stands before what the request assumes. */
export function runOfLayout(request: PlanRequest, asked: AskedLayout): RunFacts {
  const { layout, microBatchSize } = asked;
  const base = runBaseOf(request);
  const attention = layout.kernel?.attention;
  return {
    ...base,
    ...(layout.kernel?.precision === undefined ? {} : { precision: layout.kernel.precision }),
    ...(attention === 'unfused' || attention === 'local' ? { flashAttention: false } : {}),
    layout: pointOfLayout(layout, base.model, microBatchSize),
  };
}
