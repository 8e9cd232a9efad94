import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const EXAMPLE = resolve(import.meta.dirname, '../../../../examples/health/stopped-rank.jsonl');

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-health-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const replay = (...argv: readonly string[]): Promise<OfflineOutcome> => runOffline({}, 'health', 'replay', ...argv);

/** A trace whose lines are these. */
function trace(...lines: readonly string[]): string {
  const path = join(directory, 'trace.jsonl');
  writeFileSync(path, lines.join('\n'));
  return path;
}

describe('health replay', () => {
  const [header = ''] = readFileSync(EXAMPLE, 'utf8').split('\n', 1);

  it('says whom the others wait for, and since when it is to be acted on', async () => {
    const { out, code } = await replay(EXAMPLE);
    expect(code).toBe(0);
    expect(out).toMatch(
      / 120\.0 s {2}advise {2}hang .*Others wait for rank 2, which no longer reports.* Node node-0001\./,
    );
    expect(out).toMatch(/ 215\.0 s {2}evict {3}hang /);
  });

  it('prints verdicts with time, rank and evidence as JSON lines', async () => {
    const { out } = await replay(EXAMPLE, '--json');
    const verdicts = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(verdicts.at(-1)).toMatchObject({
      kind: 'hang',
      action: 'evict',
      ranks: [2],
      atMs: 215_000,
      evidence: { cause: 'noTelemetry' },
    });
  });

  it('begins anew with each header, as ranks that were started again do', async () => {
    const [, ...records] = readFileSync(EXAMPLE, 'utf8').trim().split('\n');
    const { out } = await replay(trace(header, ...records, header, ...records), '--json');
    const evicted = out.split('\n').filter((line) => line.includes('"evict"'));
    expect(evicted.map((line) => (JSON.parse(line) as { atMs: number }).atMs)).toEqual([215_000, 215_000]);
  });

  it.each<[string, () => string, RegExp]>([
    ['a file that is not there', () => join(directory, 'none'), /^Cannot read .*none: there is no such file/],
    ['an empty file', () => trace(''), /is empty; a trace starts with a header/],
    [
      'a first line that is no header',
      () => trace('{"kind":"tick","atMs":1}'),
      /, line 1: Field kind: .*begins with its header/,
    ],
    ['a line that is no JSON', () => trace(header, '', '{"kind":'), /, line 3: The line is not JSON/],
    [
      'a rank that the layout does not have',
      () => trace(header, '{"kind":"heartbeat","atMs":1,"ranks":[{"rank":9,"step":1}]}'),
      /, line 2: Rank 9 is not in the layout/,
    ],
    [
      'a line without end',
      () => trace(header, 'x'.repeat(3_000_000)),
      /, line 2: the line has more than 1048576 characters/,
    ],
  ])('refuses %s, and says where', async (_what, path, message) => {
    const { code, err } = await replay(path());
    expect([code === 0, err]).toEqual([false, expect.stringMatching(message)]);
  });
});
