import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export const description =
  'One tenant changes jobs as fast as it may, and another one times how long each of its own verbs takes to reach the cluster, quiet and loaded in turn (argument: rounds, 40).';

/** Resolves with true when the other tenant's p99 stayed within three times of its quiet p99, and the outbox had at most one entry per job. */
export async function run(args: readonly string[]): Promise<boolean> {
  const program = join(import.meta.dirname, '../../e2e/tenant-turns/tenant-turns.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
