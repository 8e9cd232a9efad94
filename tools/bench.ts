import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ensureSetup, type SetupPart } from './setup/ensure-setup.ts';

/** Programs that measure, and what each needs. */
const BENCHES: Readonly<Record<string, { readonly program: string; readonly needs: readonly SetupPart[] }>> = {
  gang: { program: 'apps/operator/bench/gang.bench.ts', needs: ['cluster', 'test-programs'] },
  api: { program: 'apps/api/bench/api.bench.ts', needs: ['builds'] },
};

/** `npm run gang:bench` and `npm run api:bench`: prepares what the bench of that name needs and runs it. */
const [name = '', ...args] = process.argv.slice(2);
const bench = BENCHES[name];
if (bench === undefined) throw new Error(`there is no bench "${name}"; there are ${Object.keys(BENCHES).join(', ')}`);
if (!args.includes('--help')) await ensureSetup({ only: bench.needs });
const program = join(import.meta.dirname, '..', bench.program);
const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
