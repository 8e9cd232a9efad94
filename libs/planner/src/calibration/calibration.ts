/** Constants by GPU type and software stack. */
import { z } from 'zod';
import {
  ADJUSTMENT_NAMES,
  ADJUSTMENTS,
  TIME_CONSTANT_NAMES,
  type AdjustmentName,
  type Adjustments,
  type TimeConstantName,
  type TimeConstants,
} from '../time/constants.ts';

const Multipliers = z.partialRecord(
  z.enum(ADJUSTMENT_NAMES as [AdjustmentName, ...AdjustmentName[]]),
  z.number().positive(),
);

/** Fitted constants: shared values, and multipliers of chips (`GpuFacts.silicon`), engine families and releases of engines. */
export const Calibration = z.strictObject({
  fittedOn: z.string().describe('What was fitted, with how many rows.'),
  shared: z.record(z.enum(TIME_CONSTANT_NAMES as [TimeConstantName, ...TimeConstantName[]]), z.number().nonnegative()),
  gpus: z.record(z.string(), Multipliers),
  families: z.record(z.string(), Multipliers),
  stacks: z.record(z.string(), Multipliers),
});
/** See the schema of the same name. */
export type Calibration = z.infer<typeof Calibration>;

/** `megatron-bridge 26.04` is a release of the family `megatron-bridge`. */
export function familyOfStack(stack: string): string {
  return stack.replace(/ \S*\d\S*$/, '');
}

/** Shared values times the multipliers of the chip, the family and the release; unknown names multiply by 1. */
export function constantsFor(calibration: Calibration, silicon: string, stack: string): TimeConstants {
  const constants: Record<TimeConstantName, number> = { ...calibration.shared };
  multiply(constants, calibration.gpus[silicon]);
  multiply(constants, calibration.families[familyOfStack(stack)]);
  multiply(constants, calibration.stacks[stack]);
  return constants;
}

function multiply(constants: Record<TimeConstantName, number>, adjustments: Adjustments | undefined): void {
  if (adjustments === undefined) return;
  for (const name of ADJUSTMENT_NAMES) {
    const factor = adjustments[name];
    if (factor === undefined) continue;
    for (const constant of ADJUSTMENTS[name]) constants[constant] *= factor;
  }
}

/** Counts the numbers of a calibration: shared ones, and those per GPU type and per stack. */
export function countConstants(calibration: Calibration): {
  readonly shared: number;
  readonly perGpuType: number;
  readonly perStack: number;
  readonly total: number;
} {
  const numbers = (table: Readonly<Record<string, Adjustments>>): number =>
    Object.values(table).reduce((sum, adjustments) => sum + Object.keys(adjustments).length, 0);
  const shared = Object.keys(calibration.shared).length;
  const perGpuType = numbers(calibration.gpus);
  const perStack = numbers(calibration.families) + numbers(calibration.stacks);
  return { shared, perGpuType, perStack, total: shared + perGpuType + perStack };
}
