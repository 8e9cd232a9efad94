import type { TrainingJobSpec } from '@coxswain/api-types';

/** The variables that the user gives to every rank. */
export function userEnvironment(spec: Pick<TrainingJobSpec, 'engine'>): Readonly<Record<string, string>> {
  return Object.fromEntries((spec.engine.env ?? []).map(({ name, value }) => [name, value]));
}
