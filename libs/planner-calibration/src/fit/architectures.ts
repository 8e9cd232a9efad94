/** Which chips are so alike that what is learnt of one holds for the others too, but for little? */
import { ADJUSTMENT_NAMES, type Adjustments } from '@coxswain/planner/calibration';

/**
 * Chips by architecture, where the data has several of one. B200 and GB200 are GB100, B300 and GB300 its successor GB110: as many multiprocessors
 * and the same rates in bf16, fp8 and memory (NVIDIA's data sheets of DGX B200 and DGX B300).
 */
const ARCHITECTURES: Readonly<Record<string, readonly string[]>> = { blackwell: ['gb100', 'gb110'] };

/** Undefined for a chip without siblings. */
export function architectureOf(chip: string): string | undefined {
  return Object.keys(ARCHITECTURES).find((name) => ARCHITECTURES[name]?.includes(chip));
}

/** Multipliers by chip, times those of its architecture; a chip that no row is of gets the latter alone. */
export function withArchitectures(
  chips: Readonly<Record<string, Adjustments>>,
  architectures: Readonly<Record<string, Adjustments>>,
): Readonly<Record<string, Adjustments>> {
  const siblings = Object.keys(architectures).flatMap((name) =>
    (ARCHITECTURES[name] ?? []).map((chip) => [chip, product(chips[chip], architectures[name])] as const),
  );
  return { ...chips, ...Object.fromEntries(siblings) };
}

function product(own: Adjustments = {}, common: Adjustments = {}): Adjustments {
  return Object.fromEntries(ADJUSTMENT_NAMES.map((name) => [name, (own[name] ?? 1) * (common[name] ?? 1)]));
}
