import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { vi } from 'vitest';
import { silence } from './silence.ts';

/** Lets what has happened reach those who wait for it. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe('silence of a stream', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each<[string, readonly number[], boolean]>([
    ['begins when the stream begins', [1_500], true],
    ['is not there before its time', [1_499], false],
    ['begins anew with each datum, however long that goes on', [1_400, 1_400, 1_400, 1_400], false],
    ['comes after the last datum', [1_400, 1_400, 1_500], true],
  ])('%s', async (_what, pauses, isSilent) => {
    const stream = new PassThrough();
    let seen = false;
    void silence(stream, 1_500).then(() => (seen = true));
    for (const [index, pause] of pauses.entries()) {
      vi.advanceTimersByTime(pause);
      await settle();
      if (index < pauses.length - 1) stream.write('\n');
      await settle();
    }
    expect(seen).toBe(isSilent);
  });
});

describe('silence of a process', () => {
  it('is not what a process hears that had no CPU itself', async () => {
    const child = spawn('/bin/sh', ['-c', 'echo; echo; exec sleep 600'], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child, 'spawn');
    let seen = false;
    void silence(child.stdout, 100).then(() => (seen = true));
    // Longer than the patience; the data arrives meanwhile, and nothing here reads it.
    const until = performance.now() + 500;
    while (performance.now() < until);
    await new Promise((resolve) => setTimeout(resolve, 0));
    await settle();
    expect(seen).toBe(false);
    child.kill('SIGKILL');
  });
});
