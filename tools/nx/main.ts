/** `npm run nx -- ARGUMENTS`: nx with the cache and the settings of this repository (`nx-environment.ts`). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ROOT } from '../test/run-supervised.ts';
import { NX, nxEnvironment } from './nx-environment.ts';

const env = { ...process.env, ...nxEnvironment(ROOT) };
const child = spawn(NX, process.argv.slice(2), { cwd: ROOT, stdio: 'inherit', env });
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
