import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { waitFor } from '@coxswain/local-cluster';

const MAIN = join(import.meta.dirname, 'main.ts');
const WATCHED = 'tools/test/results';

it('npm test -- --watch NAME runs those tests, again when a file changes, and ends when it is told to', async () => {
  const watch = spawn(process.execPath, [MAIN, '--watch', WATCHED], { stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [watch.stdout, watch.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const runs = (): number => stripVTControlCharacters(output).match(/^ +Tests .* passed/gm)?.length ?? 0;
  try {
    await waitFor(() => runs() === 1, { what: 'the first run' });
    const now = new Date();
    utimesSync(join(import.meta.dirname, 'results.ts'), now, now);
    await waitFor(() => runs() === 2, { what: 'the run after the change' });
  } finally {
    watch.kill('SIGTERM');
    if (watch.exitCode === null && watch.signalCode === null) await once(watch, 'exit');
  }
  expect(output).not.toContain('parts.spec');
});
