/** The public fuzzer: Schemathesis, which reads the OpenAPI document and the GraphQL schema by itself. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDirectory, onPath, startProcess, withLock } from '@coxswain/local-cluster';

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
/** What it has to be told of our scalars. */
const HOOKS = join(import.meta.dirname, 'schemathesis_hooks.py');
const COMPLETE = 'complete';
/** Answers that go on are read by `streams.ts`, and without a cluster the process is never ready. */
const APART = '(/events/stream|/logs|/readyz)$';
/** Rules of Schemathesis that answers are held against. Left out is that whatever the schema allows is taken: rules between fields are none of a schema. */
const CHECKS = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance', 'response_headers_conformance'],
  ...['response_schema_conformance', 'ignored_auth', 'use_after_free'],
];

/** What is to be asked, and how long. */
export interface PublicFuzzing {
  readonly url: string;
  readonly token: string;
  readonly seed: number;
  readonly examplesOfEach: number;
  readonly seconds: number;
  readonly logPath: string;
}

/** Whether it found nothing. Its report is in the log. */
export async function fuzzByOpenApi(fuzzing: PublicFuzzing): Promise<boolean> {
  return run(`${fuzzing.url}/openapi.json`, fuzzing, [
    ...['--exclude-path-regex', APART, '--checks', CHECKS.join(',')],
    ...['--phases', 'examples,coverage,fuzzing,stateful'],
  ]);
}

/** Whether it found nothing. */
export async function fuzzByGraphql(fuzzing: PublicFuzzing): Promise<boolean> {
  return run(`${fuzzing.url}/graphql`, fuzzing, [
    // An error of GraphQL is no failure of the server to us: the relay looks for those that are.
    ...['--checks', 'response_schema_conformance', '--phases', 'fuzzing'],
  ]);
}

async function run(schema: string, fuzzing: PublicFuzzing, more: readonly string[]): Promise<boolean> {
  const python = await schemathesisPython();
  const handle = await startProcess({
    name: 'Schemathesis',
    command: join(dirname(python), 'schemathesis'),
    args: [
      ...['run', schema, '--header', `Authorization: Bearer ${fuzzing.token}`, ...more],
      ...['--seed', String(fuzzing.seed), '--max-examples', String(fuzzing.examplesOfEach)],
      ...['--max-time', String(fuzzing.seconds), '--request-timeout', '20', '--no-color', '--continue-on-failure'],
    ],
    cwd: dirname(fuzzing.logPath),
    env: { ...process.env, SCHEMATHESIS_HOOKS: HOOKS },
    logPath: fuzzing.logPath,
  });
  return (await handle.exited).code === 0;
}

/** A virtual environment with what `requirements.txt` pins, each file of it by its hash. */
async function schemathesisPython(): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 12);
  const directory = join(cacheDirectory(), `schemathesis-${hash}`);
  const python = join(directory, 'bin/python');
  await withLock('schemathesis', async () => {
    if (existsSync(join(directory, COMPLETE))) return;
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(dirname(directory), { recursive: true });
    await program(onPath('python3') ?? 'python3', ['-m', 'venv', directory]);
    const quiet = ['--disable-pip-version-check', '--no-input', '--progress-bar=off', '--quiet'];
    await program(python, [
      '-m',
      'pip',
      'install',
      ...quiet,
      '--require-hashes',
      '--only-binary=:all:',
      '-r',
      REQUIREMENTS,
    ]);
    writeFileSync(join(directory, COMPLETE), '');
  });
  return python;
}

async function program(command: string, args: readonly string[]): Promise<void> {
  const handle = await startProcess({ name: command, command, args });
  const { code } = await handle.exited;
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
}
