import { vi } from 'vitest';
import { progressOn, type ProgressStream } from './progress.ts';

const ERASED = '\r\x1b[K';

function stream(isTTY: boolean): { readonly lines: string[]; readonly out: ProgressStream } {
  const lines: string[] = [];
  const write = (text: string | Uint8Array): boolean => lines.push(String(text)) > 0;
  return { lines, out: { isTTY, columns: 60, write } };
}

describe('progress', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('of a log tells every 20 s what each step says of itself, and how long it took', async () => {
    const { lines, out } = stream(false);
    const finish = Promise.withResolvers<void>();
    const step = progressOn(out).step('install PyTorch', (note) => {
      note('from its own index');
      return finish.promise;
    });
    vi.advanceTimersByTime(40_000);
    finish.resolve();
    await step;

    expect(lines).toEqual([
      '  … install PyTorch: from its own index (0.0 s)\n',
      '  … install PyTorch: from its own index (20 s)\n',
      '  … install PyTorch: from its own index (40 s)\n',
      '  ✓ install PyTorch (40 s)\n',
    ]);
  });

  it('of a terminal keeps all steps that run in one line of its width', async () => {
    const { lines, out } = stream(true);
    const progress = progressOn(out);
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    const steps = [progress.step('build etcd', () => first.promise), progress.step('PyTorch', () => second.promise)];
    vi.advanceTimersByTime(500);
    first.resolve();
    await steps[0];
    vi.advanceTimersByTime(500);
    second.resolve();
    await steps[1];
    vi.advanceTimersByTime(5_000);

    expect(lines).toEqual([
      `${ERASED}  … build etcd (0.5 s) · PyTorch (0.5 s)`,
      `${ERASED}  ✓ build etcd (0.5 s)\n`,
      `${ERASED}  … PyTorch (1.0 s)`,
      `${ERASED}  ✓ PyTorch (1.0 s)\n`,
    ]);
  });

  it('tells which step failed and passes its error on', async () => {
    const { lines, out } = stream(false);

    await expect(progressOn(out).step('build etcd', () => Promise.reject(new Error('no Go')))).rejects.toThrow('no Go');
    expect(lines).toEqual(['  ✗ build etcd (0.0 s)\n']);
  });
});
