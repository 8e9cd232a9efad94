import type { GridPoint } from '../grid-point.ts';
import type { LayoutFacts } from '../layout-facts.ts';
import { contextDegreeRules } from './context-degrees.ts';
import { dataDegreeRules } from './data-degrees.ts';
import { expertDegreeRules } from './expert-degrees.ts';
import type { GridRule } from './grid-rule.ts';
import { pipelineDegreeRules } from './pipeline-degrees.ts';
import { tensorDegreeRules } from './tensor-degrees.ts';

/** Every rule about degrees. A rule holds if its facts are absent. */
export const gridRules: readonly GridRule[] = [
  ...tensorDegreeRules,
  ...contextDegreeRules,
  ...pipelineDegreeRules,
  ...dataDegreeRules,
  ...expertDegreeRules,
];

/** Whether every rule about degrees holds. Allocates no memory, because a search calls it in its innermost loop. */
export function isLegalGrid(point: GridPoint, facts: LayoutFacts): boolean {
  for (const rule of gridRules) if (!rule.holds(point, facts)) return false;
  return true;
}
