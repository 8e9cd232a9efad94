import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import type { Session } from '../session/session.ts';
import { addLogsCommand } from './logs-command.ts';

const NOW = new Date('2026-02-01T00:00:00Z');
const BYTES = Buffer.from([0xff, 0xfe, 0x00, 0x1b, 0x0a]);

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'logs-command-'))));
afterEach(() => rmSync(directory, { recursive: true }));

/** What the API was asked. */
async function run(...argv: readonly string[]): Promise<unknown> {
  let asked: unknown;
  const logs = (_at: unknown, query: unknown): Promise<AsyncIterable<Uint8Array>> => {
    asked = query;
    return Promise.resolve(
      (async function* () {
        yield BYTES;
      })(),
    );
  };
  const project = { api: { logs }, find: () => Promise.resolve({ at: {} }) };
  const session = { open: () => Promise.resolve(project), now: () => NOW, stdout: { write: () => true } };
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addLogsCommand(program, session as unknown as Session);
  await program.parseAsync(['logs', 'gpt', ...argv], { from: 'user' });
  return asked;
}

describe('logs', () => {
  it.each([
    ['90s', '2026-01-31T23:58:30.000Z'],
    ['2h', '2026-01-31T22:00:00.000Z'],
    ['3d', '2026-01-29T00:00:00.000Z'],
    ['2026-01-31T12:00:00+01:00', '2026-01-31T11:00:00.000Z'],
  ])('since %s are those since %s', async (text, since) => {
    expect(await run('--since', text)).toMatchObject({ rank: 0, since });
  });

  it.each([
    ['--since', 'yesterday'],
    ['--since', '2026-01-31T12:00:00'],
    ['--all-ranks', '--rank=3'],
  ])('reject %s %s', async (...argv) => {
    await expect(run(...argv)).rejects.toThrow();
  });

  it('are written to a new file byte for byte', async () => {
    const file = join(directory, 'all.log');
    expect(await run('--all-ranks', '--download', file)).toMatchObject({ allRanks: true });
    expect(readFileSync(file)).toEqual(BYTES);
  });

  it('replace no file', async () => {
    const file = join(directory, 'mine.txt');
    writeFileSync(file, 'mine');
    await expect(run('--download', file)).rejects.toThrow(/mine\.txt" exists already; name another file/);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });
});
