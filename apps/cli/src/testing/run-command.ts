import { startFakeApi, type FakeAnswer, type FakeApi } from '@coxswain/api-client/testing';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { type Credential, writeCredential } from '../session/credentials-file.ts';
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

/** Somebody whose environment holds no token. */
export interface AtHome {
  /** Where the file of credentials lies; whoever made it removes it. */
  readonly directory: string;
  /** At the API that is asked; absent: nobody. */
  readonly signedIn?: Credential | undefined;
}

/** Runs one command line, words separated by blanks, as an administrator of project `research` whose token stands in the environment, or `atHome`. */
export async function runCommand(argv: string, routes: Routes, atHome?: AtHome): Promise<Outcome> {
  const directory = atHome?.directory ?? mkdtempSync(join(tmpdir(), 'coxswain-cli-'));
  const config = join(directory, 'config.yaml');
  writeFileSync(config, '');
  const fake = await startFakeApi({
    'GET /v1/whoami': { json: { name: 'ada', role: 'admin', project: 'research' } },
    ...routes,
  });
  if (atHome?.signedIn !== undefined) writeCredential(join(directory, 'credentials.json'), fake.url, atHome.signedIn);
  const [out, err]: [string[], string[]] = [[], []];
  try {
    const code = await main(argv.split(' ').filter(Boolean), {
      env: {
        COXSWAIN_SERVER: fake.url,
        COXSWAIN_CONFIG: config,
        ...(atHome === undefined ? { COXSWAIN_TOKEN: 'cxs_env' } : {}),
      },
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
    if (atHome === undefined) rmSync(directory, { recursive: true });
  }
}
