import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { cacheDirectory } from '@coxswain/local-cluster';
import { ROOT } from '../test/run-supervised.ts';

/** The program. */
export const NX = join(ROOT, 'node_modules/.bin/nx');

/**
 * The environment in which nx runs for the checkout at `root`. Each checkout has a cache of its own below the user's cache folder, because nx
 * keeps a database of hits beside the results. No daemon outlives the command, and nx sends nothing anywhere.
 */
export function nxEnvironment(root: string): Readonly<Record<string, string>> {
  const checkout = createHash('sha256').update(root).digest('hex').slice(0, 16);
  const directory = join(cacheDirectory(), 'nx', checkout);
  return {
    NX_CACHE_DIRECTORY: join(directory, 'cache'),
    NX_WORKSPACE_DATA_DIRECTORY: join(directory, 'workspace-data'),
    NX_DAEMON: 'false',
    NX_NO_CLOUD: 'true',
  };
}
