/** Predicts a given layout: time, memory, and the traffic between its ranks. */
import { DomainError } from '@coxswain/domain-error';
import { layoutViolations, type LayoutViolation } from '@coxswain/layout';
import { exchangesOfRun, type GroupExchange } from '../answer/exchanges-of-run.ts';
import { predictRun } from '../answer/predict-run.ts';
import { layoutForModels } from '../answer/layout-for-engine.ts';
import type { AskedLayout, PlanRequest, Prediction } from '../contract.ts';
import { formatsOfLayout } from '../answer/priced-facts.ts';
import type { RunFacts } from '../facts.ts';
import { candidateOfLayout } from '../request/layout-conversion.ts';
import { layoutFactsOf } from '../request/layout-rule-facts.ts';
import { resolveRequest, type RunBase } from '../request/resolved-request.ts';
import { brokenStageOf } from '../request/whole-stages.ts';

/**
 * Time and memory of one layout on the cluster of the request.
 *
 * @throws DomainError INVALID_REQUEST for an unknown preset; INVALID_LAYOUT with every broken rule, or with every option that the models do not cover.
 */
export function predict(request: PlanRequest, asked: AskedLayout): Prediction {
  return predictRun(legalRunOf(request, asked), request.memoryMarginShare);
}

/**
 * Bytes that the ranks of one layout exchange in a step, by group.
 *
 * @throws DomainError as {@link predict} does.
 */
export function exchangesOf(request: PlanRequest, asked: AskedLayout): readonly GroupExchange[] {
  return exchangesOfRun(legalRunOf(request, asked));
}

function legalRunOf(request: PlanRequest, asked: AskedLayout): RunFacts {
  const { run } = resolveRequest(request);
  const broken = brokenRulesOf(run, asked);
  const [first] = broken;
  if (first !== undefined) {
    const violations = broken.map(({ field, message }) => ({ pointer: `/layout/${field}`, detail: message }));
    throw new DomainError('INVALID_LAYOUT', `layout: ${first.message}`, violations);
  }
  return runOfLayout(run, asked);
}

/** Every rule that a layout breaks, given the model, batch, engine, number of GPUs and islands of a run. */
export function brokenRulesOf(run: RunBase, asked: AskedLayout): readonly LayoutViolation[] {
  const broken = layoutViolations(asked.layout, layoutFactsOf(run, asked.microBatchSize));
  if (broken.length > 0 || run.cluster.stagesInOneIsland !== true) return broken;
  const ofIslands = brokenStageOf(run.cluster, runOfLayout(run, asked).candidate);
  return ofIslands === undefined ? [] : [ofIslands];
}

/** The run of a legal layout. Kernel options of the layout override those of the request. */
export function runOfLayout(run: RunBase, asked: AskedLayout): RunFacts {
  const { layout, microBatchSize } = asked;
  const attention = layout.kernel?.attention;
  return {
    ...run,
    ...formatsOfLayout(run.stack, layout, run.precision),
    ...(attention === 'unfused' || attention === 'local' ? { flashAttention: false } : {}),
    candidate: candidateOfLayout(layoutForModels(run.stack, layout, run.model.layers), run.model, microBatchSize),
  };
}
