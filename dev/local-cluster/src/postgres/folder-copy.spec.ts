import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyFolder, digestOf } from './folder-copy.ts';

describe('a copied folder', () => {
  let home: string;
  let source: string;
  let target: string;

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'folder-copy-'));
    source = join(home, 'source');
    target = join(home, 'target');
    mkdirSync(join(source, 'bin'), { recursive: true, mode: 0o700 });
    mkdirSync(join(source, 'lib'), { mode: 0o700 });
    writeFileSync(join(source, 'bin/postgres'), 'a program', { mode: 0o700 });
    writeFileSync(join(source, 'lib/libpq.so.5.18'), 'a library', { mode: 0o600 });
    symlinkSync('libpq.so.5.18', join(source, 'lib/libpq.so.5'));
  });

  afterEach(() => rmSync(home, { recursive: true }));

  it('holds the same', () => {
    copyFolder(source, target);

    expect(digestOf(target)).toBe(digestOf(source));
    expect(readFileSync(join(target, 'lib/libpq.so.5'), 'utf8')).toBe('a library');
  });

  it.each([
    ['', '755'],
    ['bin', '755'],
    ['bin/postgres', '755'],
    ['lib/libpq.so.5.18', '644'],
  ])('lets everybody read "%s", whatever the original allows', (name, mode) => {
    copyFolder(source, target);

    expect((statSync(join(target, name)).mode & 0o777).toString(8)).toBe(mode);
  });

  it('is left alone when it is there', () => {
    mkdirSync(target);
    copyFolder(source, target);

    expect(digestOf(target)).not.toBe(digestOf(source));
  });

  it.each<[string, (folder: string) => void]>([
    ['a changed file', (folder) => writeFileSync(join(folder, 'bin/postgres'), 'another one')],
    ['a file that can no longer be executed', (folder) => chmodSync(join(folder, 'bin/postgres'), 0o644)],
    ['a missing file', (folder) => rmSync(join(folder, 'lib/libpq.so.5.18'))],
    ['one more file', (folder) => writeFileSync(join(folder, 'bin/psql'), '')],
    [
      'a link that leads elsewhere',
      (folder) => {
        rmSync(join(folder, 'lib/libpq.so.5'));
        symlinkSync('/etc/passwd', join(folder, 'lib/libpq.so.5'));
      },
    ],
  ])('is told from its source by %s', (_, change) => {
    copyFolder(source, target);
    change(target);

    expect(digestOf(target)).not.toBe(digestOf(source));
  });
});
