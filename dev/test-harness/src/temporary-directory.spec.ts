import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

it.each([
  ['ends', ''],
  ['fails', 'throw new Error();'],
  ['exits', 'process.exit(3);'],
])('directories are there until their process %s', (_how, end) => {
  const module = JSON.stringify(new URL('temporary-directory.ts', import.meta.url).href);
  const program = `
    const { temporaryDirectory } = await import(${module});
    const { existsSync } = await import('node:fs');
    const made = ['one', 'two'].map((name) => temporaryDirectory(name));
    if (made.every((path) => existsSync(path))) console.log(made.join());
    ${end}`;
  const run = (): string =>
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8', stdio: 'pipe' });
  const out = (() => {
    try {
      return run();
    } catch (error) {
      return (error as { readonly stdout: string }).stdout;
    }
  })();
  const made = out.trim().split(',');
  expect(made).toEqual([expect.stringContaining('coxswain-one-'), expect.stringContaining('coxswain-two-')]);
  expect(made.filter((path) => existsSync(path))).toEqual([]);
});
