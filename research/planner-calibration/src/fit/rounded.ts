/** Rounds fitted constants. */
import type { Adjustments, Calibration } from '@coxswain/planner/calibration';

const LEAST_CHANGE = 0.01;

/** The calibration with four digits, without multipliers within 1 % of 1. */
export function rounded(calibration: Calibration): Calibration {
  const digits = (value: number): number => Number(value.toPrecision(4));
  const table = (owners: Readonly<Record<string, Adjustments>>): Record<string, Adjustments> =>
    Object.fromEntries(
      Object.entries(owners)
        .map(([owner, factors]): [string, Adjustments] => [
          owner,
          Object.fromEntries(
            Object.entries(factors)
              .filter(([, factor]) => Math.abs(Math.log(factor)) >= LEAST_CHANGE)
              .map(([name, factor]) => [name, digits(factor)]),
          ),
        ])
        .filter(([, factors]) => Object.keys(factors).length > 0),
    );
  return {
    fittedOn: calibration.fittedOn,
    shared: Object.fromEntries(
      Object.entries(calibration.shared).map(([name, value]) => [name, digits(value)]),
    ) as Calibration['shared'],
    gpus: table(calibration.gpus),
    families: table(calibration.families),
    stacks: table(calibration.stacks),
  };
}
