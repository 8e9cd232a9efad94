import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ensureSetup, USUAL_PARTS } from '../setup/ensure-setup.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Saves of TorchTitan, DeepSpeed, the Trainer of Transformers and the reference engine, damaged in seven ways while their jobs are suspended (half an hour; arguments: engines, words of damages).';

/** Resolves with true if each save was described and verified right, and each job resumed from the right one. */
export async function run(args: readonly string[]): Promise<boolean> {
  await ensureSetup({ only: [...USUAL_PARTS, 'upstream-engines'] });
  const program = join(import.meta.dirname, '../../e2e/damaged-saves/campaign.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
