import { systemClock } from '@coxswain/kube';
import { type PlaceBounds, TurnGate } from '@coxswain/units';
import type { Limit } from './limit-exceeded.ts';
import type { ProjectLimits } from './project-limits.ts';

/** Turns of projects for work of one kind. Work whose turn does not come in `waitMs` is RATE_LIMITED, with the message, and may try again after `retrySeconds`. */
export function turnsOfProjects(
  limits: Pick<ProjectLimits, 'refuse'>,
  of: {
    readonly bounds: PlaceBounds;
    readonly waitMs: number;
    readonly limit: Limit;
    readonly message: string;
    readonly retrySeconds: number;
  },
): TurnGate {
  const busy = (): Error => limits.refuse(of.limit, of.message, of.retrySeconds);
  return new TurnGate({ bounds: of.bounds, waitMs: of.waitMs, setTimer: systemClock.setTimer, busy });
}
