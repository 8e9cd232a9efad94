import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { lookUpEnginePython } from '@coxswain/local-cluster';
import { ensureSetup, type SetupPart } from './setup/ensure-setup.ts';

/** A program that measures, and what it needs. */
interface Bench {
  readonly program: string;
  readonly needs: readonly SetupPart[];
}

/** By script and name. Where a script is given no name of its benches, its first one runs. */
const BENCHES: Readonly<Record<string, Readonly<Record<string, Bench>>>> = {
  checkpoint: { metadata: { program: 'libs/checkpoint/bench/metadata.bench.ts', needs: ['python'] } },
  recovery: { recovery: { program: 'e2e/recovery/recovery.bench.ts', needs: ['builds', 'cluster', 'python'] } },
  reshard: {
    reshard: { program: 'libs/checkpoint-store/bench/reshard.bench.ts', needs: ['python'] },
    plan: { program: 'libs/checkpoint/bench/plan.bench.ts', needs: [] },
  },
  gang: { gang: { program: 'apps/operator/bench/gang.bench.ts', needs: ['cluster', 'test-programs'] } },
  api: {
    jobs: { program: 'apps/api/bench/jobs.bench.ts', needs: ['builds'] },
    series: { program: 'apps/api/bench/series.bench.ts', needs: [] },
    'fan-out': { program: 'apps/api/bench/fan-out.bench.ts', needs: ['builds'] },
  },
};

/** `npm run gang:bench`, `npm run checkpoint:bench`, `npm run reshard:bench [-- reshard|plan]` and `npm run api:bench [-- jobs|series|fan-out]`: prepares what the bench needs and runs it. */
const [script = '', ...rest] = process.argv.slice(2);
const benches = BENCHES[script];
if (benches === undefined)
  throw new Error(`there are no benches "${script}"; there are ${Object.keys(BENCHES).join(', ')}`);
const isNamed = Object.hasOwn(benches, rest[0] ?? '');
const bench = isNamed ? benches[rest[0] ?? ''] : Object.values(benches)[0];
if (bench === undefined) throw new Error(`no bench stands under "${script}"`);
const args = isNamed ? rest.slice(1) : rest;
if (!args.includes('--help')) await ensureSetup({ only: bench.needs });
const program = join(import.meta.dirname, '..', bench.program);
const child = spawn(process.execPath, [program, ...args], {
  stdio: 'inherit',
  env: { ...process.env, ENGINE_PYTHON: lookUpEnginePython() },
});
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
