import { parseArgs } from 'node:util';
import { writeCommittedSums } from './committed-sums.ts';
import {
  describeTasks,
  ensureSetup,
  missingTasks,
  PART_MEANINGS,
  SETUP_PARTS,
  USUAL_PARTS,
  type SetupPart,
} from './ensure-setup.ts';
import { progressOn, secondsSince } from './progress.ts';

const HELP = `npm run setup [-- part ...]

Prepares everything that the quickstart and the tests need, and keeps it in
\${XDG_CACHE_HOME:-~/.cache}/coxswain. What is there already costs nothing. Parts, all but the last three unless named:

${SETUP_PARTS.map((part) => `  ${part.padEnd(15)}${PART_MEANINGS[part]}`).join('\n')}

Kubernetes programs are taken from KUBEBUILDER_ASSETS or PATH at the right version, else from the official downloads,
else built from the Go modules pinned in tools/go.

  --write-sums   after a change of a version: writes the SHA-256 that each project publishes into tools/setup/official-sums.json
`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h' }, 'write-sums': { type: 'boolean' } },
  });
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  if (values['write-sums'] === true) {
    console.log(`wrote the SHA-256 of ${await writeCommittedSums()} downloads to tools/setup/official-sums.json`);
    return;
  }
  const progress = progressOn(process.stderr);
  const started = performance.now();
  const parts = positionals.length === 0 ? USUAL_PARTS : positionals.map(partNamed);
  progress.say(`Setting up (${describeTasks(await missingTasks(parts))})`);
  await ensureSetup({ progress, only: parts });
  progress.say(`Everything is ready (${secondsSince(started)})`);
}

function partNamed(name: string): SetupPart {
  const part = SETUP_PARTS.find((known) => known === name);
  if (part === undefined) {
    throw new Error(`there is no part "${name}"; the parts are ${SETUP_PARTS.join(', ')}`);
  }
  return part;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
