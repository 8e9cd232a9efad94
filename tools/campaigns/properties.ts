import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROPERTY_SEED_VARIABLE, chanceSeed, propertySeed } from '../test/which-seed.ts';
import { unitTestArguments } from '../test/parts.ts';
import { ROOT, runSupervised } from '../test/run-supervised.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Every property with seeds that no run has seen, again and again (arguments: minutes, 10; a first seed, by chance).';

/** Any machine will do; the arguments must be numbers. */
export function requirements(args: readonly string[]): undefined {
  readArguments(args);
}

/** Resolves with true when each property held with each seed. Ends at the first seed with which one did not, and prints it. */
export async function run(args: readonly string[]): Promise<boolean> {
  const { budgetMin, firstSeed } = readArguments(args);
  const endMs = Date.now() + budgetMin * 60_000;
  const files = filesWithProperties();
  let seed = firstSeed;
  for (let round = 1; round === 1 || Date.now() < endMs; round++, seed = (seed + 1) | 0) {
    process.stderr.write(`\n▶ round ${round}: ${files.length} files, seed ${seed}\n`);
    if (!(await holdWith(seed, files))) {
      process.stderr.write(`\nA property does not hold. Again: npm run campaign -- properties 0.1 ${seed}\n`);
      return false;
    }
  }
  return true;
}

function readArguments([minutes = '10', first]: readonly string[]): { budgetMin: number; firstSeed: number } {
  const budgetMin = Number(minutes);
  if (!(budgetMin > 0)) throw new Error(`the first argument is a number of minutes above 0, not "${minutes}"`);
  return { budgetMin, firstSeed: first === undefined ? chanceSeed() : propertySeed(first) };
}

function filesWithProperties(): string[] {
  const paths = globSync('{libs,apps,dev,research,tools,e2e}/**/*.spec.ts', {
    cwd: ROOT,
    exclude: ['**/node_modules/**'],
  });
  return paths.filter((path) => readFileSync(join(ROOT, path), 'utf8').includes("from 'fast-check'")).sort();
}

async function holdWith(seed: number, files: readonly string[]): Promise<boolean> {
  const exit = await runSupervised({
    name: `properties with seed ${seed}`,
    command: process.execPath,
    args: unitTestArguments(['--silent', '--reporter=dot', ...files]),
    env: { [PROPERTY_SEED_VARIABLE]: String(seed) },
  });
  return exit?.code === 0;
}
