import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ensureSetup } from '../setup/ensure-setup.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Training with DeepSpeed, TorchTitan and the reference engine that is killed, converted and resumed at another number of ranks (a quarter of an hour; arguments: words of the cases).';

/** Resolves with true if each run went on with the same state and the same losses. */
export async function run(args: readonly string[]): Promise<boolean> {
  await ensureSetup({ only: ['upstream-engines'] });
  const program = join(import.meta.dirname, '../../e2e/reshard-training/campaign.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
