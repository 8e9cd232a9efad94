import { gridPointOf } from './grid-point.ts';
import type { LayoutFacts } from './layout-facts.ts';
import type { ParallelLayout } from './parallel-layout.ts';
import { adviceRules } from './rules/advice-rules.ts';
import type { Explanation, GridRule } from './rules/grid-rule.ts';
import { gridRules } from './rules/grid-rules.ts';
import type { OptionRule } from './rules/option-rule.ts';
import { optionRules } from './rules/option-rules.ts';

/** A rule about layouts. An error makes a layout illegal; a warning means that it is probably slow or without effect. */
export interface LayoutRule {
  readonly name: string;
  /** The engine or paper that the rule comes from. */
  readonly source: string;
  readonly statement: string;
  readonly severity: 'error' | 'warning';
  readonly check: (layout: ParallelLayout, facts: LayoutFacts) => readonly Explanation[];
}

/** A broken rule: the field it concerns, as a pointer below the layout (`pipeline/chunksPerRank`), and a message with the value and the nearest legal value. */
export interface LayoutViolation extends Explanation {
  readonly rule: string;
  readonly severity: 'error' | 'warning';
}

/** Every rule, in the order in which findings are reported. */
export const layoutRules: readonly LayoutRule[] = [
  ...gridRules.map(ofGrid),
  ...optionRules.map((rule) => withSeverity(rule, 'error')),
  ...adviceRules.map((rule) => withSeverity(rule, 'warning')),
];

/** Every violation, errors before warnings. A rule is not applied if its facts are absent. */
export function layoutFindings(layout: ParallelLayout, facts: LayoutFacts): readonly LayoutViolation[] {
  return layoutRules.flatMap(({ name, severity, check }) =>
    check(layout, facts).map((explanation) => ({ rule: name, severity, ...explanation })),
  );
}

/** Every violation that makes the layout illegal, in a fixed order; empty if the layout is legal. */
export function layoutViolations(layout: ParallelLayout, facts: LayoutFacts): readonly LayoutViolation[] {
  return layoutFindings(layout, facts).filter((finding) => finding.severity === 'error');
}

/** The first of `layoutViolations`. Later rules are not checked, because a search checks thousands of layouts. */
export function firstViolation(layout: ParallelLayout, facts: LayoutFacts): LayoutViolation | undefined {
  const point = gridPointOf(layout, facts);
  for (const rule of gridRules) {
    if (!rule.holds(point, facts)) return { rule: rule.name, severity: 'error', ...rule.explain(point, facts) };
  }
  for (const rule of optionRules) {
    const [explanation] = rule.check(layout, facts);
    if (explanation !== undefined) return { rule: rule.name, severity: 'error', ...explanation };
  }
  return undefined;
}

function ofGrid({ holds, explain, ...rule }: GridRule): LayoutRule {
  return {
    ...rule,
    severity: 'error',
    check: (layout, facts) => {
      const point = gridPointOf(layout, facts);
      return holds(point, facts) ? [] : [explain(point, facts)];
    },
  };
}

function withSeverity(rule: OptionRule, severity: LayoutRule['severity']): LayoutRule {
  return { ...rule, severity };
}
