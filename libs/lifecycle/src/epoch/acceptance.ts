import { type EffectiveSpec, effectiveSpec, isPlanOf, type TrainingJobSpec } from '@coxswain/api-types';
import { engineRefusal, layoutRefusal, modelRefusals } from '@coxswain/engines';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';
import { isGangWanted } from './planning.ts';
import { runtimeStanding, saidBeforeReading } from './runtime-standing.ts';

/** Whether the spec can be run as it stands. */
export type Acceptance =
  /** With the layout that it runs on, whoever chose it. */
  | { readonly kind: 'accepted'; readonly spec: EffectiveSpec }
  /** The planner is to choose a layout, and has not yet. */
  | { readonly kind: 'unplanned' }
  | {
      readonly kind: 'refused';
      readonly reason: 'SpecInvalid' | 'NoLayoutFits' | 'LayoutInvalid' | 'EngineRefused' | 'RuntimeRefused';
      readonly message: string;
    };

/** Of each spec that was read, for the plan that it was judged with last: every look asks again. */
const judged = new WeakMap<TrainingJobSpec, { readonly plan: JobRecord['plan']; readonly acceptance: Acceptance }>();

export function acceptanceOf(record: JobRecord, facts: Facts): Acceptance {
  const acceptance = acceptanceOfSpec(record, facts);
  // Of a gang that is there nothing is asked: what happens to be known of its runtime would be told, and forgotten, by whoever leads.
  if (acceptance.kind === 'refused' || !isGangWanted(record, facts)) return acceptance;
  // Asked with every look: unlike the spec, a runtime changes under the job.
  const message = runtimeRefusalNow(facts);
  return message === undefined ? acceptance : { kind: 'refused', reason: 'RuntimeRefused', message };
}

function runtimeRefusalNow(facts: Facts): string | undefined {
  const runtime = runtimeStanding(facts);
  if (runtime.kind === 'refused') return runtime.message;
  const before = saidBeforeReading(facts, 'Accepted');
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
