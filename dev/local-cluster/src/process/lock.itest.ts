import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withLock } from './lock.ts';

describe('a lock', () => {
  const name = `test-${process.pid}-${Date.now()}`;

  it('lets one in at a time', async () => {
    let inside = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
    };

    await Promise.all(Array.from({ length: 10 }, () => withLock(name, work)));

    expect(most).toBe(1);
  });

  it('is free again when the work under it failed', async () => {
    await expect(withLock(name, () => Promise.reject(new Error('no disk')))).rejects.toThrow('no disk');

    expect(await withLock(name, () => Promise.resolve('taken'))).toBe('taken');
  });

  it('passes to the next when its owner is killed, who was told whom it waits for', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'lock-'));
    const owner = join(directory, 'owner.ts');
    writeFileSync(
      owner,
      `import { withLock } from ${JSON.stringify(join(import.meta.dirname, 'lock.ts'))};
       await withLock(${JSON.stringify(name)}, () => { console.log('locked'); return new Promise(() => setInterval(() => {}, 1000)); });`,
    );
    const holder = spawn(process.execPath, [owner], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(holder.stdout, 'data');

    let waitedFor = '';
    const taken = withLock(name, () => Promise.resolve('taken'), {
      onWait: (pid) => {
        waitedFor = pid;
        holder.kill('SIGKILL');
      },
    });

    expect(await taken).toBe('taken');
    expect(waitedFor).toBe(String(holder.pid));
    rmSync(directory, { recursive: true });
  });
});
