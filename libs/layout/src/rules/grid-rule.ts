import type { GridPoint } from '../grid-point.ts';
import type { LayoutFacts } from '../layout-facts.ts';
import { nearestDivisor } from '../nearest.ts';

/** A broken rule: the field, as a pointer below the layout (`pipeline/chunksPerRank`), and a message with the value and the nearest legal value. */
export interface Explanation {
  readonly field: string;
  readonly message: string;
}

/** A rule about degrees. A search calls only `holds`, which allocates no memory; `explain` is called if the rule is broken. */
export interface GridRule {
  readonly name: string;
  /** The engine or paper that the rule comes from. */
  readonly source: string;
  readonly statement: string;
  readonly holds: (point: GridPoint, facts: LayoutFacts) => boolean;
  readonly explain: (point: GridPoint, facts: LayoutFacts) => Explanation;
}

/** A rule that a size must be a multiple of a degree. */
export interface DivideRule {
  readonly name: string;
  readonly source: string;
  readonly statement: string;
  readonly field: string;
  readonly ways: (point: GridPoint) => number;
  /** Undefined or 0: nothing to divide. */
  readonly whole: (point: GridPoint, facts: LayoutFacts) => number | undefined;
  readonly wholeName: string;
}

/** Makes the grid rule of a {@link DivideRule}. */
export function divides({ ways, whole, wholeName, ...rule }: DivideRule): GridRule {
  return {
    name: rule.name,
    source: rule.source,
    statement: rule.statement,
    holds: (point, facts) => (whole(point, facts) ?? 0) % ways(point) === 0,
    explain: (point, facts) => {
      const [divisor, total] = [ways(point), whole(point, facts) ?? 1];
      return {
        field: rule.field,
        message:
          `${rule.field.replace('/', '.')} ${divisor} does not divide ${wholeName} ${total}; ` +
          `the nearest that does is ${nearestDivisor(total, divisor)}`,
      };
    },
  };
}

/** `whole / ways`, or undefined if that is not a whole number. */
export function wholePart(whole: number | undefined, ways: number): number | undefined {
  return whole !== undefined && whole % ways === 0 ? whole / ways : undefined;
}
