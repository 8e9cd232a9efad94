import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureHere } from './measure-here.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-measure-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('ranks of this machine', () => {
  it('that do not end are killed, and it is said what to ask for instead', async () => {
    const python = join(directory, 'stuck');
    writeFileSync(python, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const asked = { python, ranks: 2, ranksPerNode: 2, seconds: 0, spareMs: 50 };
    const measured = measureHere(asked, new AbortController().signal, () => undefined);
    await expect(measured).rejects.toThrow(/2 ranks .* and were killed; use fewer --ranks/);
  });

  it('are no longer waited for when the person has stopped waiting', async () => {
    const python = join(directory, 'stuck-too');
    writeFileSync(python, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const asked = { python, ranks: 1, ranksPerNode: 1, seconds: 60 };
    const measured = measureHere(asked, AbortSignal.abort(), () => undefined);
    await expect(measured).rejects.toThrow(/abort/i);
  });
});
