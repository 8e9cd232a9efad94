import { startFakeApi, type FakeAnswer, type FakeApi } from '@coxswain/api-client/testing';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { main } from '../main.ts';

/** What the API answers, by method and path. */
export type Routes = Readonly<Record<string, FakeAnswer | readonly FakeAnswer[]>>;

/** What one command line printed and asked for. */
export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly requests: FakeApi['requests'];
  /** Of the API that it asked. */
  readonly url: string;
}

/** When it is, for every command. */
export const NOW = new Date('2026-01-10T00:00:00Z');

/** Runs one command line, words separated by blanks, as an administrator of project `research` whose token stands in the environment. */
export async function runCommand(argv: string, routes: Routes): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-cli-'));
  const config = join(directory, 'config.yaml');
  writeFileSync(config, '');
  const fake = await startFakeApi({
    'GET /v1/whoami': { json: { name: 'ada', role: 'admin', project: 'research' } },
    ...routes,
  });
  const [out, err]: [string[], string[]] = [[], []];
  try {
    const code = await main(argv.split(' ').filter(Boolean), {
      env: { COXSWAIN_SERVER: fake.url, COXSWAIN_TOKEN: 'cxs_env', COXSWAIN_CONFIG: config },
      now: () => NOW,
      print: (line) => void out.push(line),
      printError: (line) => void err.push(line),
      stdout: new Writable(),
      widthColumns: undefined,
      pause: () => Promise.resolve(),
      signal: new AbortController().signal,
    });
    return { code, out: out.join('\n'), err: err.join('\n'), requests: fake.requests, url: fake.url };
  } finally {
    await fake.close();
    rmSync(directory, { recursive: true });
  }
}
