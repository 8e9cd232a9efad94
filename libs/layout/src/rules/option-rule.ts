import type { LayoutFacts } from '../layout-facts.ts';
import type { ParallelLayout } from '../parallel-layout.ts';
import type { Explanation } from './grid-rule.ts';

/** A rule about options together: what it finds wrong, or nothing. */
export interface OptionRule {
  readonly name: string;
  readonly source: string;
  readonly statement: string;
  readonly check: (layout: ParallelLayout, facts: LayoutFacts) => readonly Explanation[];
}

/** Engines that run Megatron-LM inside, with its rules. */
export const MEGATRON_FAMILY: ReadonlySet<LayoutFacts['engine']> = new Set([
  'megatron-lm',
  'megatron-bridge',
  'areal',
  'verl',
  'nemo-rl',
  'flagscale',
]);

export function broken(field: string, message: string): readonly Explanation[] {
  return [{ field, message }];
}

export function brokenIf(isBroken: boolean, field: string, message: () => string): readonly Explanation[] {
  return isBroken ? [{ field, message: message() }] : [];
}
