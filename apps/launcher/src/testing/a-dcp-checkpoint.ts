import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SavedFact } from '../facts/engine-facts.ts';
import { sha256 } from './a-checkpoint.ts';

const FIXTURE = join(import.meta.dirname, '../../../../libs/checkpoint/fixtures/dcp-2.15.0');

/**
 * A copy of a save of PyTorch with a manifest, and what an engine would report of it. `spoil` changes the files before the manifest lists them, as a write that
 * went wrong does.
 */
export function aDcpCheckpointIn(saveDirectory: string, spoil: (path: string) => void = () => undefined): SavedFact {
  const directory = 'step-20';
  const path = join(saveDirectory, directory);
  mkdirSync(path, { recursive: true });
  cpSync(FIXTURE, path, { recursive: true, preserveTimestamps: false });
  spoil(path);
  const files = readdirSync(path).map((name) => ({
    path: name,
    bytes: statSync(join(path, name)).size,
    sha256: sha256(readFileSync(join(path, name))),
  }));
  const manifest = JSON.stringify({
    formatVersion: 1,
    engine: 'reference',
    format: 'torch_dcp',
    step: 20,
    layout: {},
    training: {},
    files,
  });
  writeFileSync(join(path, 'manifest.json'), manifest);
  return {
    kind: 'checkpointSaved',
    step: 20,
    directory,
    bytes: 1,
    files: files.length,
    manifestSha256: sha256(manifest),
  };
}
