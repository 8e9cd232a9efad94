/** Chips with a common architecture, which share most of their multipliers. */
import { ADJUSTMENT_NAMES, type AdjustmentName, type Adjustments } from '@coxswain/planner/calibration';

/**
 * Chips by architecture, where the data has several of one. B200 and GB200 are GB100, B300 and GB300 its successor GB110: as many multiprocessors
 * and the same rates in bf16, fp8 and memory (NVIDIA's data sheets of DGX B200 and DGX B300).
 */
const ARCHITECTURES: Readonly<Record<string, readonly string[]>> = { blackwell: ['gb100', 'gb110'] };

/**
 * Where the multiplier of an architecture starts, other than at 1. Ceilings are best cases (`matmulCeiling`). Large products that follow one another do 0.89 of it on our H100
 * and H200 (primitives_h100.json, primitives_h200.json), which hold their clock, and 0.63 on a B200 (1,100 TFLOP/s of 1,745: `b200_bf16_ceperm.json` of MooreThreads/SimuMax, v1.2); on another
 * its clock falls from 1,965 to 1,580 MHz after 5 ms (flashinfer#2899). That is 1.41 and 1.24 times as slow as Hopper by its ceiling: between the two.
 */
const STARTS: Readonly<Record<string, Adjustments>> = { blackwell: { compute: 1.3 } };

/** Start value of a multiplier of an architecture: a factor on a constant, 1 if none is listed. */
export const startOfArchitecture = (architecture: string, name: AdjustmentName): number =>
  STARTS[architecture]?.[name] ?? 1;

/** The architecture of a chip; undefined if no other chip shares it. */
export function architectureOf(chip: string): string | undefined {
  return Object.keys(ARCHITECTURES).find((name) => ARCHITECTURES[name]?.includes(chip));
}

/** Multipliers of each chip times those of its architecture; a chip without rows has only the latter. */
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
