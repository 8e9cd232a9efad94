import { type EffectiveSpec, effectiveSpec, isPlanOf } from '@coxswain/api-types';
import { engineRefusal, layoutRefusal } from '@coxswain/engines';
import type { Facts } from '../look/facts.ts';
import type { JobRecord } from '../record/job-record.ts';

/** Whether the spec can be run as it stands. */
export type Acceptance =
  /** With the layout that it runs on, whoever chose it. */
  | { readonly kind: 'accepted'; readonly spec: EffectiveSpec }
  /** The planner is to choose a layout, and has not yet. */
  | { readonly kind: 'unplanned' }
  | {
      readonly kind: 'refused';
      readonly reason: 'SpecInvalid' | 'NoLayoutFits' | 'LayoutInvalid' | 'EngineRefused';
      readonly message: string;
    };

export function acceptanceOf(record: JobRecord, facts: Facts): Acceptance {
  const { spec } = facts;
  if (spec === undefined) {
    return { kind: 'refused', reason: 'SpecInvalid', message: facts.specProblem ?? 'spec cannot be read' };
  }
  const effective = effectiveSpec(spec, record.plan);
  const invalid = effective === undefined ? undefined : layoutRefusal(effective);
  if (invalid !== undefined) return { kind: 'refused', reason: 'LayoutInvalid', message: invalid };
  const refusal = engineRefusal(effective ?? spec);
  if (refusal !== undefined) {
    return { kind: 'refused', reason: 'EngineRefused', message: `${refusal.reason}; ${refusal.alternative}` };
  }
  if (effective !== undefined) return { kind: 'accepted', spec: effective };
  const { plan } = record;
  if (plan?.refusal !== undefined && isPlanOf(plan, spec)) {
    return { kind: 'refused', reason: 'NoLayoutFits', message: plan.refusal };
  }
  return { kind: 'unplanned' };
}
