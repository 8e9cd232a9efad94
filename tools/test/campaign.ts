import { existsSync, globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureSetup } from '../setup/ensure-setup.ts';
import { ROOT } from './run-supervised.ts';
import { startCampaign, type Campaign } from './start-campaign.ts';

const FOLDER = join(ROOT, 'tools/campaigns');

const HELP = `npm run campaign [-- NAME [arguments]]

Runs one long test campaign; lists them all without a name. A campaign is a file in tools/campaigns that exports
\`description\` (one sentence) and \`run(args)\`, which resolves with true if everything held. A campaign that needs more of the machine than
tests do also exports \`requirements(args)\`, which returns why it cannot run here, before anything is built.
`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    strict: false,
    options: { help: { type: 'boolean', short: 'h' } },
  });
  const [name] = positionals;
  if (values['help'] === true && name === undefined) {
    process.stdout.write(HELP);
    return 0;
  }
  if (name === undefined) {
    process.stdout.write(await listing());
    return 0;
  }
  const path = join(FOLDER, `${basename(name)}.ts`);
  if (!existsSync(path)) {
    process.stderr.write(`error: there is no campaign "${name}"\n${await listing()}`);
    return 2;
  }
  const rest = process.argv.slice(process.argv.indexOf(name) + 1);
  return (await startCampaign(await load(path), rest, ensureSetup)) ? 0 : 1;
}

async function listing(): Promise<string> {
  const paths = globSync('*.ts', { cwd: FOLDER }).sort();
  const lines = await Promise.all(
    paths.map(async (path) => `  ${basename(path, '.ts').padEnd(24)}${(await load(join(FOLDER, path))).description}\n`),
  );
  return lines.length === 0 ? 'There is no campaign yet.\n' : `Campaigns:\n${lines.join('')}`;
}

async function load(path: string): Promise<Campaign> {
  return (await import(pathToFileURL(path).href)) as Campaign;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
