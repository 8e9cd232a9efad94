import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileError } from './file-error.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(`${tmpdir()}/coxswain-file-error-`);
});
afterEach(() => rmSync(directory, { recursive: true }));

function said(path: string): string {
  try {
    readFileSync(path);
  } catch (error) {
    return fileError('read', path, error).message;
  }
  return 'read';
}

it('says where a relative path was looked for', () => {
  expect(said('nowhere.yaml')).toBe(
    `Cannot read nowhere.yaml: there is no such file or directory in ${process.cwd()}.`,
  );
});

it.each<[string, () => string, RegExp]>([
  ['a missing file', () => `${directory}/none`, /none: there is no such file or directory\.$/],
  ['a directory', () => directory, /it is a directory; give a file\.$/],
  ['what the system says of other troubles', () => `/${'x'.repeat(300)}`, /: (file )?name too long\.$/],
])('names %s', (_what, path, sentence) => {
  expect(said(path())).toMatch(sentence);
});
