/** Runs test files that failed beside others once more, alone, and says what each of the two runs showed. */
import { join } from 'node:path';
import { chosenFiles, type Part, type PartContext } from './parts.ts';
import { type Failure, type Tally, withoutFiles } from './results.ts';

/** More files than this fail because of the code, not because the machine was busy. */
const MOST_FILES_AGAIN = 8;

/** The files that run again: all that failed, if they are few and every failure is of a file. */
export function filesToRunAgain(failures: readonly Failure[]): readonly string[] {
  const files = [...new Set(failures.map(({ file }) => file))];
  const known = files.filter((file) => file !== undefined);
  return known.length === files.length && known.length <= MOST_FILES_AGAIN ? known : [];
}

/** What both runs of these files came to: the second one counts, and a note names each test that only passed alone. */
export function afterAnotherRun(first: Tally, files: readonly string[], again: Tally): Tally {
  const failed = new Set(again.failures.map(({ name }) => name));
  const passedAlone = first.failures.filter(
    ({ file, name }) => file !== undefined && files.includes(file) && !failed.has(name),
  );
  const kept = withoutFiles(first, files);
  return {
    passed: kept.passed + again.passed,
    failures: [...kept.failures, ...again.failures],
    notes: [...(kept.notes ?? []), ...passedAlone.map(({ name, message }) => describeUnsteady(name, message))],
    // The record keeps how long the file took beside the others.
    files: first.files ?? [],
  };
}

function describeUnsteady(name: string, message: string): string {
  const why = message
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '');
  return `UNSTEADY: ${name} failed beside other tests${why === undefined ? '' : ` (${why})`} and passed alone. Mend it: it depends on the speed of the machine, or on its neighbours.`;
}

/** Runs the files of each part among `files`, one part after the other. */
export async function runAgain(
  parts: readonly Part[],
  files: readonly string[],
  {
    context,
    runPart,
  }: { readonly context: PartContext; readonly runPart: (part: Part, context: PartContext) => Promise<Tally> },
): Promise<readonly Tally[]> {
  const tallies: Tally[] = [];
  for (const part of parts) {
    const own = part.files === undefined ? [] : chosenFiles(part, context).filter((file) => files.includes(file));
    if (own.length === 0) continue;
    tallies.push(await runPart(part, { directory: join(context.directory, 'again'), filters: own }));
  }
  return tallies;
}
