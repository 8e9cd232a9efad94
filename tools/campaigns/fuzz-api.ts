import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Requests of all kinds to the API, made from its OpenAPI document and GraphQL schema, with another tenant’s canary beside them (arguments: 5000 requests or 30m, seed).';

/** Resolves with true when nothing failed, nothing came out, and (of 10,000 requests or more) every operation was answered both well and with a refusal. */
export async function run(args: readonly string[]): Promise<boolean> {
  const program = join(import.meta.dirname, '../../e2e/fuzz-api/fuzz-api.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
