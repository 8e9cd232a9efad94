import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SavedFact } from '../facts/engine-facts.ts';

/** Writes a whole checkpoint with files of eight bytes, one of each rank, and gives what an engine would say of it. */
export function aCheckpointIn(saveDirectory: string, step = 10, ranks = 1): SavedFact {
  const directory = `step-${String(step).padStart(8, '0')}`;
  const path = join(saveDirectory, directory);
  mkdirSync(path, { recursive: true });
  const names = Array.from({ length: ranks }, (_, rank) => `rank-${rank}.bin`);
  for (const name of names) writeFileSync(join(path, name), '12345678');
  const manifest = JSON.stringify({
    formatVersion: 1,
    engine: 'sleeper',
    format: 'sleeper',
    step,
    tokensSeen: step,
    layout: {},
    model: { layers: 1, hiddenSize: 1, attentionHeads: 1, sequenceLength: 1 },
    training: {},
    files: names.map((name) => ({ path: name, bytes: 8, sha256: sha256('12345678') })),
  });
  writeFileSync(join(path, 'manifest.json'), manifest);
  return { kind: 'checkpointSaved', step, directory, bytes: 8 * ranks, files: ranks, manifestSha256: sha256(manifest) };
}

export function sha256(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex');
}
