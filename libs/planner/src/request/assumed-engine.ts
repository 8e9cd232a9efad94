/** What is planned for if a request names no engine? */
import type { LayoutEngine } from '@coxswain/layout';
import { DomainError } from '@coxswain/domain-error';
import type { PlanRequest } from '../contract.ts';
import { SCHEDULES, type Schedule } from '../facts.ts';
import { choicesOfEngine, supportedChoicesOf } from './engine-choices.ts';
import { resolveRequest, type ResolvedRequest } from './resolved-request.ts';

/** The engine whose releases most large runs use. */
const USUAL_ENGINE = 'megatron-lm';

/**
 * The engine that is assumed for a request without one: Megatron-LM, unless the request pins or allows only what no release of it runs. Undefined if the
 * request names its engine, or if any engine may be meant.
 */
export function assumedEngineOf(request: PlanRequest): LayoutEngine | undefined {
  if (request.stack !== undefined) return undefined;
  try {
    resolveRequest({ ...request, stack: USUAL_ENGINE });
    return USUAL_ENGINE;
  } catch (error) {
    if (error instanceof DomainError) return undefined;
    throw error;
  }
}

/** The same request, whose choices are those of the assumed engine. Speeds stay those of an average engine. */
export function withAssumedEngine(resolved: ResolvedRequest): ResolvedRequest {
  const engine = assumedEngineOf(resolved.request);
  return engine === undefined ? resolved : { ...resolved, allow: choicesOfEngine(engine, resolved.allow) };
}

/** Schedules that the request allows and the assumed engine does not run; none if the request names its engine or pins a schedule. */
export function otherSchedulesOf({ request, allow }: ResolvedRequest): readonly Schedule[] {
  const engine = assumedEngineOf(request);
  if (engine === undefined || request.pinned?.schedule !== undefined) return [];
  const { schedules } = supportedChoicesOf(engine, engine);
  return (allow.schedules ?? SCHEDULES).filter((schedule) => !schedules.includes(schedule));
}
