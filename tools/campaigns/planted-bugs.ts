import { PLANTED_BUGS, type PlantedBug } from './planted-bugs/bugs.ts';
import { PlantedTree, type TestOutcome } from './planted-bugs/planted-tree.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Plants one bug of each class that controllers are known for into the real code, and runs the test that must catch it (10 min; arguments: classes, such as C4).';

/** Any machine will do; the classes must be there. */
export function requirements(args: readonly string[]): undefined {
  chosenBugs(args);
}

/** Resolves with true when every bug was caught by the test that names it, and that test passes without it. */
export async function run(args: readonly string[]): Promise<boolean> {
  const chosen = chosenBugs(args);
  const tree = await PlantedTree.copy();
  try {
    const sound = new Map<string, TestOutcome>();
    let missed = 0;
    for (const bug of chosen) {
      const before = sound.get(bug.test) ?? (await tree.test(bug.test));
      sound.set(bug.test, before);
      await tree.plant(bug);
      const problem = verdictOn(bug, { before, after: await tree.test(bug.test) });
      await tree.heal(bug);
      if (problem !== undefined) missed += 1;
      say(`${bug.bugClass.padEnd(4)} ${problem === undefined ? 'caught' : 'MISSED'}  ${bug.bug}${problem ?? ''}`);
    }
    say(`${chosen.length} bugs planted, ${chosen.length - missed} caught, ${missed} missed.`);
    return missed === 0;
  } finally {
    await tree.remove();
  }
}

function chosenBugs(classes: readonly string[]): readonly PlantedBug[] {
  const chosen = PLANTED_BUGS.filter(({ bugClass }) => classes.length === 0 || classes.includes(bugClass));
  if (chosen.length === 0) throw new Error(`there is no class ${classes.join(', ')}: give C1 to C34`);
  return chosen;
}

/** Why the bug does not count as caught; undefined when it does. */
function verdictOn(
  { caughtBy, test }: PlantedBug,
  { before, after }: { readonly before: TestOutcome; readonly after: TestOutcome },
): string | undefined {
  if (before.problem !== undefined) return `: ${test} has no result without it: ${before.problem}`;
  if (before.failed.some((name) => name.includes(caughtBy))) return `: ${test} fails without it`;
  // A bug that keeps the file from loading is caught by no test.
  if (after.problem !== undefined) return `: ${test} has no result with it: ${after.problem}`;
  if (after.failed.some((name) => name.includes(caughtBy))) return undefined;
  return `: ${after.failed.length} of ${test} failed, but not "${caughtBy}": ${after.failed.slice(0, 3).join('; ')}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
