import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ensureSetup } from '../setup/ensure-setup.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Layouts of published systems, scaled down to a few CPU ranks and trained by the engines that they are rendered for (a quarter of an hour; arguments: words of files or engines).';

/** Resolves with true if each layout trains with the losses of one rank. It writes examples/layouts/trained.json. */
export async function run(args: readonly string[]): Promise<boolean> {
  await ensureSetup({ only: ['upstream-engines'] });
  const program = join(import.meta.dirname, '../../e2e/seed-systems/campaign.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
