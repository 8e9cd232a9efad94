import type { LayoutFacts } from '../layout-facts.ts';
import type { ParallelLayout } from '../parallel-layout.ts';
import type { Explanation } from './grid-rule.ts';

/** A rule about options that depend on each other. `check` returns one explanation per violation, or none. */
export interface OptionRule {
  readonly name: string;
  readonly source: string;
  readonly statement: string;
  readonly check: (layout: ParallelLayout, facts: LayoutFacts) => readonly Explanation[];
}

/** Engines that run Megatron-LM, so that its rules apply. */
export const MEGATRON_FAMILY: ReadonlySet<LayoutFacts['engine']> = new Set([
  'megatron-lm',
  'megatron-bridge',
  'areal',
  'verl',
  'nemo-rl',
  'flagscale',
]);

/** One explanation, as a list. */
export function broken(field: string, message: string): readonly Explanation[] {
  return [{ field, message }];
}

/** One explanation if `isBroken`, else an empty list. */
export function brokenIf(isBroken: boolean, field: string, message: () => string): readonly Explanation[] {
  return isBroken ? [{ field, message: message() }] : [];
}
