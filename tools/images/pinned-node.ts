import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { architectureOf, type Architecture } from './elf.ts';
import { ROOT } from './image-names.ts';

interface PinnedNode {
  readonly version: string;
  readonly sha256: Readonly<Record<string, string>>;
}

/** npm's and Node's word for a processor. */
const NODE_WORDS: Readonly<Record<Architecture, string>> = { amd64: 'x64', arm64: 'arm64' };

/** The processor of this machine, in the words of images. */
export function thisArchitecture(): Architecture {
  return process.arch === 'arm64' ? 'arm64' : 'amd64';
}

/**
 * The path of the Node that this repository pins, for `architecture`: of the installed packages, or for another processor fetched by npm into
 * `directory`. Rejects unless its bytes are those that are named here, and for that processor.
 */
export async function pinnedNode(architecture: Architecture, directory: string): Promise<string> {
  const word = NODE_WORDS[architecture];
  const pinned = JSON.parse(readFileSync(join(ROOT, 'tools/node-binaries.json'), 'utf8')) as PinnedNode;
  const installed = join(ROOT, `node_modules/node-linux-${word}/bin/node`);
  const path = existsSync(installed) ? installed : await fetched(`node-linux-${word}`, pinned.version, directory);
  const sum = createHash('sha256').update(readFileSync(path)).digest('hex');
  if (sum !== pinned.sha256[word]) {
    throw new Error(`${path} has SHA-256 ${sum}, but tools/node-binaries.json names ${pinned.sha256[word]}`);
  }
  const found = architectureOf(path);
  if (found !== architecture) throw new Error(`${path} is for ${found}, not for ${architecture}`);
  return path;
}

async function fetched(name: string, version: string, directory: string): Promise<string> {
  const folder = join(directory, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const args = ['pack', `${name}@${version}`, '--pack-destination', folder, '--loglevel=error'];
  await promisify(execFile)('npm', args, { cwd: folder });
  await promisify(execFile)('tar', ['-xzf', join(folder, `${name}-${version}.tgz`), '-C', folder]);
  return join(folder, 'package/bin/node');
}
