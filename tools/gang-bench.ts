import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ensureSetup } from './setup/ensure-setup.ts';

/** `npm run gang:bench`: prepares the Kubernetes programs and runs the operator's bench. */
const args = process.argv.slice(2);
if (!args.includes('--help')) await ensureSetup({ only: ['cluster', 'test-programs'] });
const program = join(import.meta.dirname, '../apps/operator/bench/gang.bench.ts');
const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
