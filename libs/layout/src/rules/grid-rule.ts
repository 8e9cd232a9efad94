import type { GridPoint } from '../grid-point.ts';
import type { LayoutFacts } from '../layout-facts.ts';
import { nearestDivisor } from '../nearest.ts';

/** What is wrong: the field, as a pointer below the layout (`pipeline/chunksPerRank`), and a sentence with values and the nearest legal one. */
export interface Explanation {
  readonly field: string;
  readonly message: string;
}

/** A rule of degrees. `holds` is all that a search needs and makes nothing; `explain` is called where it does not hold. */
export interface GridRule {
  readonly name: string;
  /** Whose rule it is. */
  readonly source: string;
  readonly statement: string;
  readonly holds: (point: GridPoint, facts: LayoutFacts) => boolean;
  readonly explain: (point: GridPoint, facts: LayoutFacts) => Explanation;
}

/** That something is split into equal parts. */
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

/** `whole / ways` where it is a whole number. */
export function wholePart(whole: number | undefined, ways: number): number | undefined {
  return whole !== undefined && whole % ways === 0 ? whole / ways : undefined;
}
