import { ROOT } from '../test/run-supervised.ts';
import { EarlierTree, isCommitThere, runOn } from './rollback/earlier-tree.ts';

/** The commit of the release before. This release changes its names, fields and tables. At a release, set it anew. */
const RELEASE_BEFORE = '3b74dcef';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'The operator of the release before continues jobs of this release, before each write of their lives. Its API runs on the schema of this release (5 min; argument: commit of that release).';

/** Why the campaign cannot run here: git must have the commit. */
export function requirements([commit = RELEASE_BEFORE]: readonly string[]): string | undefined {
  return isCommitThere(commit) ? undefined : `git does not have commit ${commit} here; fetch the history`;
}

/** Resolves with true if every job goes on as it does without the rollback, and every test of that API passes. */
export async function run([commit = RELEASE_BEFORE]: readonly string[]): Promise<boolean> {
  const earlier = await EarlierTree.of(commit);
  try {
    const [operator, api] = [await continuesLives(earlier), await servesTheSchema(earlier)];
    return operator && api;
  } finally {
    await earlier.remove();
  }
}

const LIVES = 'apps/operator/src/testing/rollback';

/** What of a snapshot is shown; the programs of {@link LIVES} know the rest. */
interface Snapshot {
  readonly life: string;
  readonly before: string;
}

interface Continued {
  readonly results: readonly { readonly problem?: string }[];
  /** What is done to nodes whose quarantine a person overruled. */
  readonly overruled: readonly unknown[];
}

async function continuesLives(earlier: EarlierTree): Promise<boolean> {
  const text = await runOn(ROOT, `${LIVES}/take-snapshots.ts`, '');
  const snapshots = JSON.parse(text) as readonly Snapshot[];
  const program = `${LIVES}/continue-lives.ts`;
  await earlier.take(LIVES);
  const now = JSON.parse(await runOn(ROOT, program, text)) as Continued;
  const before = JSON.parse(await earlier.run(program, text)) as Continued;
  const problems = snapshots.flatMap(({ life, before: write }, i) => {
    const [result, expected] = [before.results[i], JSON.stringify(now.results[i])];
    if (result !== undefined && result.problem === undefined && JSON.stringify(result) === expected) return [];
    return [`a job that ${life}, before ${write}: ${JSON.stringify(result)}, without a rollback ${expected}`];
  });
  for (const problem of problems) say(problem);
  if (before.overruled.length > 0) say(`a node whose quarantine was overruled: ${JSON.stringify(before.overruled)}`);
  say(`${snapshots.length} snapshots continued by the operator of the release before, ${problems.length} otherwise.`);
  return problems.length + before.overruled.length === 0;
}

/** Migrations of this release run first, and rights of requests are those of this release. */
async function servesTheSchema(earlier: EarlierTree): Promise<boolean> {
  await earlier.take('migrations', 'libs/persistence/src/migrations.ts', 'libs/persistence/src/access/table-access.ts');
  try {
    await earlier.test(['apps/api/src/outbox/', 'apps/api/src/jobs/', 'apps/api/src/cluster']);
    say('The API of the release before passes its tests of jobs, outbox and cluster on the schema of this release.');
    return true;
  } catch (error) {
    say(`The API of the release before fails on the schema of this release:\n${(error as Error).message}`);
    return false;
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
