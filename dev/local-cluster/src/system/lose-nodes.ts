import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CoxswainSystem } from './system.ts';

/** Those local nodes are switched off from now on, with all that runs on them, and no others: what was off and is not named is back. */
export function loseNodes(system: Pick<CoxswainSystem, 'nodesDirectory'>, names: readonly string[]): void {
  const path = join(system.nodesDirectory, 'lost-nodes.yaml');
  writeFileSync(`${path}.new`, JSON.stringify(Object.fromEntries(names.map((name) => [name, 'killed']))));
  renameSync(`${path}.new`, path);
}
