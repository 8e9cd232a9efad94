/** Applies the measured profile of a cluster to constants. */
import type { ClusterProfile } from '../cluster-profile.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from '../time/constants.ts';
import { familyOfStack } from './calibration.ts';
import { CALIBRATION } from './fitted.ts';

/** Name of a factor on all constants together, which whole steps of live jobs measure. */
export const WHOLE_STEP = 'step';

/** Ratios that seconds are multiplied by; each second of the model has one of them, or is a constant in seconds itself. */
const SLOWDOWNS: ReadonlySet<string> = new Set([
  'gemmSlowdown',
  'gemmRidge',
  'flashSlowdown',
  'unfusedSlowdown',
  'scoresFactor',
  'elementwiseFactor',
  'quantiseFactor',
  'scanCycles',
  'optimizerFactor',
  'lossFactor',
  'embeddingFactor',
  'routingFactor',
  'scaleUpSlowdown',
  'scaleOutSlowdown',
  'dispatchSlowdown',
  'dispatchAcross',
]);

const STRETCHING = TIME_CONSTANT_NAMES.filter((name) => TIME_CONSTANTS[name].unit === 's' || SLOWDOWNS.has(name));

/** The constants that a factor multiplies; none for an unknown name. */
function movedBy(name: string): readonly TimeConstantName[] {
  return name === WHOLE_STEP ? STRETCHING : TIME_CONSTANT_NAMES.filter((known) => known === name);
}

/** Names of a profile that are not constants of this planner, because the profile was measured for another release. */
export function unknownConstantsOf(profile: ClusterProfile): readonly string[] {
  return profile.factors.map(({ constant }) => constant).filter((name) => movedBy(name).length === 0);
}

/** The constants of a stack on the cluster of a profile. Unknown names are ignored. */
export function withProfile(constants: TimeConstants, profile: ClusterProfile, stack: string): TimeConstants {
  const changed: Record<TimeConstantName, number> = { ...constants };
  const family = familyOfStack(stack);
  const isFitted = Object.hasOwn(CALIBRATION.families, family);
  for (const { constant, factor, engine, isOfHost = false } of profile.factors) {
    if ((engine !== undefined && engine !== family) || (isOfHost && isFitted)) continue;
    for (const name of movedBy(constant)) changed[name] *= factor;
  }
  return changed;
}
