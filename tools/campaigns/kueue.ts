import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ensureSetup } from '../setup/ensure-setup.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Queued jobs with the real Kueue: quota, preemption, hand edits, Kueue and the operator killed (five minutes, and half an hour once to build Kueue; arguments: pieces of sentences).';

/** Kueue gets a folder of its own for a certificate that it reads from /etc. */
export function requirements(): string | undefined {
  const { status } = spawnSync('unshare', ['--mount', '--map-root-user', 'true']);
  return status === 0 ? undefined : 'this user may not make a mount namespace (unshare --mount --map-root-user)';
}

/** Resolves with true when every row held. */
export async function run(args: readonly string[]): Promise<boolean> {
  await ensureSetup({ only: ['kueue'] });
  const program = join(import.meta.dirname, '../../apps/operator/src/kueue/testing/kueue-campaign.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
