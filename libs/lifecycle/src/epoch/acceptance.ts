import { type EffectiveSpec, effectiveSpec, isPlanOf, type TrainingJobSpec } from '@coxswain/api-types';
import { engineRefusal, layoutRefusal, modelRefusals } from '@coxswain/engines';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';
import { isGangWanted } from './planning.ts';
import { runtimeStanding, conditionBeforeReading } from './runtime-standing.ts';

/** Whether the spec can run as it is. */
export type Acceptance =
  /** The spec with the layout to run on, chosen by the user or the planner. */
  | { readonly kind: 'accepted'; readonly spec: EffectiveSpec }
  /** The planner has to choose a layout and has not done so yet. */
  | { readonly kind: 'unplanned' }
  | {
      readonly kind: 'refused';
      readonly reason: 'SpecInvalid' | 'NoLayoutFits' | 'LayoutInvalid' | 'EngineRefused' | 'RuntimeRefused';
      readonly message: string;
    };

/** Results by spec, each for the plan that it was last judged with, because every reconciliation asks. */
const judged = new WeakMap<TrainingJobSpec, { readonly plan: JobRecord['plan']; readonly acceptance: Acceptance }>();

/** Whether the job's spec, its plan and its runtime can run. */
export function acceptanceOf(record: JobRecord, facts: Facts): Acceptance {
  const acceptance = acceptanceOfSpec(record, facts);
  // The runtime does not matter for a gang that exists: leaders may know different versions of it, and the condition would alternate.
  if (acceptance.kind === 'refused' || !isGangWanted(record, facts)) return acceptance;
  // Checked at every reconciliation, because a runtime may change independently of the job.
  const message = runtimeRefusalNow(facts);
  return message === undefined ? acceptance : { kind: 'refused', reason: 'RuntimeRefused', message };
}

function runtimeRefusalNow(facts: Facts): string | undefined {
  const runtime = runtimeStanding(facts);
  if (runtime.kind === 'refused') return runtime.message;
  const before = conditionBeforeReading(facts, 'Accepted');
  return before?.reason === 'RuntimeRefused' ? before.message : undefined;
}

function acceptanceOfSpec({ plan }: Pick<JobRecord, 'plan'>, { spec, specProblem }: Facts): Acceptance {
  if (spec === undefined) {
    return { kind: 'refused', reason: 'SpecInvalid', message: specProblem ?? 'spec cannot be read' };
  }
  const before = judged.get(spec);
  if (before !== undefined && before.plan === plan) return before.acceptance;
  const acceptance = judge(spec, plan);
  judged.set(spec, { plan, acceptance });
  return acceptance;
}

function judge(spec: TrainingJobSpec, plan: JobRecord['plan']): Acceptance {
  const [unknown] = modelRefusals(spec.model);
  if (unknown !== undefined) return { kind: 'refused', reason: 'SpecInvalid', message: unknown.message };
  const effective = effectiveSpec(spec, plan);
  const invalid = effective === undefined ? undefined : layoutRefusal(effective);
  if (invalid !== undefined) return { kind: 'refused', reason: 'LayoutInvalid', message: invalid };
  const refusal = engineRefusal(effective ?? spec);
  if (refusal !== undefined) {
    return { kind: 'refused', reason: 'EngineRefused', message: `${refusal.why}; ${refusal.fallback}` };
  }
  if (effective !== undefined) return { kind: 'accepted', spec: effective };
  if (plan?.refusal !== undefined && isPlanOf(plan, spec)) {
    return { kind: 'refused', reason: 'NoLayoutFits', message: plan.refusal };
  }
  return { kind: 'unplanned' };
}
