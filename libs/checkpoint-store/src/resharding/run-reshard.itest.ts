import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { divideColumns, divideRows, planReshard, readKeyPaths, verifySave } from '@coxswain/checkpoint';
import { findEnginePython } from '@coxswain/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../open-store.ts';
import { runReading } from '../reading/run-reading.ts';
import { runReshard } from './run-reshard.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const FIXTURES = join(ROOT, 'libs/checkpoint/fixtures');
const DIVISIONS = { rows: divideRows(3), columns: divideColumns(2), one: divideRows(1) };

async function reshard(from: string, to: string, divide: keyof typeof DIVISIONS): Promise<void> {
  const [source, target] = [await openStore(from, {}), await openStore(to, {})];
  const files = await source.list();
  const { state = { tensors: [], objects: [] } } = await runReading(
    source,
    files,
    verifySave(files, { level: 'V1', crc32 }),
  );
  const plan = planReshard(state, { divide: DIVISIONS[divide], pieceBytes: 200, crc32 });
  const paths = readKeyPaths(readFileSync(join(from, '.metadata')));
  await runReshard({ plan, paths, source, files, target, sourceId: from, bandBytes: 64 });
}

describe('saves that are divided anew', () => {
  let directory = '';

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'coxswain-reshard-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  it('are loaded by PyTorch as it loads the saves that they were made of, and one with a changed byte is not', async () => {
    const lines: string[] = [];
    for (const name of ['dcp-2.15.0', 'dcp-odd-tensors-2.15.0']) {
      const save = join(FIXTURES, name);
      const made: string[] = [];
      for (const divide of Object.keys(DIVISIONS) as (keyof typeof DIVISIONS)[]) {
        made.push(mkdtempSync(join(directory, `${name}-${divide}-`)));
        await reshard(save, made.at(-1) ?? '', divide);
      }
      const changed = join(directory, `${name}-changed`);
      cpSync(made.at(-1) ?? '', changed, { recursive: true });
      changeElement(changed);
      const compare = [join(ROOT, 'engines/fixtures/compare_dcp.py'), save, ...made, changed];
      const { stdout } = await promisify(execFile)(findEnginePython(), compare);
      lines.push(
        ...stdout
          .trim()
          .split('\n')
          .map((line) => line.replace(/^.*: (the same|differs).*$/, '$1')),
      );
    }
    expect(lines).toEqual(Array.from({ length: 2 }, () => ['the same', 'the same', 'the same', 'differs']).flat());
  });
});

/** Changes the first element of a tensor in a file of a save. */
function changeElement(directory: string): void {
  for (const name of readdirSync(directory).filter((each) => each.endsWith('.distcp'))) {
    const bytes = readFileSync(join(directory, name));
    const header = bytes.indexOf('archive/data/0');
    if (header < 0) continue;
    // Behind the local header, which says how long its name and its padding are.
    const start = header - 30;
    const at = header + bytes.readUInt16LE(start + 26) + bytes.readUInt16LE(start + 28);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(join(directory, name), bytes);
    return;
  }
}
