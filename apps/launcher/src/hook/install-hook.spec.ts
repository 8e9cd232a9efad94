import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installHook, withPythonPath } from './install-hook.ts';

describe('the hook comes into a rank', () => {
  it('as files that the launcher writes, the one first that Python loads at its start', () => {
    const directory = mkdtempSync(join(tmpdir(), 'hook-'));
    try {
      const folder = installHook(directory);
      expect(readdirSync(folder).sort()).toEqual(['coxswain_hook', 'sitecustomize.py']);
      expect(readFileSync(join(folder, 'coxswain_hook/reporter.py'), 'utf8')).toMatch(/^class Reporter/m);
      // A second launcher of the same container, or a second incarnation, finds its own place; writing twice changes nothing.
      expect(installHook(directory)).toBe(folder);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it.each([
    ['alone where nothing else is on the path', {}, '/own/hook'],
    ['alone where the path is empty, which would be the working directory', { PYTHONPATH: '' }, '/own/hook'],
    ['before what the image or the job has there', { PYTHONPATH: '/a:/b' }, '/own/hook:/a:/b'],
  ])('%s', (_, environment, path) => {
    expect(withPythonPath(environment, { hook: '/own/hook', files: undefined })).toEqual({ PYTHONPATH: path });
  });

  it('not at all where it could not be written', () => {
    expect(withPythonPath({ PYTHONPATH: '/a' }, { hook: undefined, files: undefined })).toEqual({});
  });

  it.each([
    ['last, where the job has a path', { PYTHONPATH: '/a' }, '/own/hook', '/own/hook:/a:/own/engine'],
    ['behind the hook alone, where it has none', {}, '/own/hook', '/own/hook:/own/engine'],
    ['also where the hook could not be written', { PYTHONPATH: '' }, undefined, '/own/engine'],
  ])('files that are rendered for the engine come %s', (_, environment, hook, path) => {
    expect(withPythonPath(environment, { hook, files: '/own/engine' })).toEqual({ PYTHONPATH: path });
  });
});
