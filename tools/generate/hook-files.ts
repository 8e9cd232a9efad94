import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const HOOK = 'engines/agent/hook';
/** It speaks as engines do; under a name of its own, so that it never stands before the package of an engine's image. */
const SPEAKS = 'engines/agent/coxswain_agent';
const SPEAKING = ['reporter.py', 'stacks.py'] as const;

/** The hook's files as strings: the launcher is one file, and carries them. */
export function generateHookFiles(): ReadonlyMap<string, string> {
  const paths = globSync('**/*.py', { cwd: join(ROOT, HOOK) }).sort();
  const files = Object.fromEntries(paths.map((path): [string, string] => [path, read(join(HOOK, path))]));
  const speaking = SPEAKING.map((name): [string, string] => [`coxswain_hook/${name}`, read(join(SPEAKS, name))]);
  const text = `${JSON.stringify({ source: HOOK, files: { ...files, ...Object.fromEntries(speaking) } })}\n`;
  return new Map([['apps/launcher/src/hook/hook-files.generated.json', text]]);
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}
