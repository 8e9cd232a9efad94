/** A small save of DeepSpeed, and what stands for the converter of DeepSpeed on it. */
import { createHash } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const FIXTURES = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures/deepspeed-0.19.8/zero1');

/** The files of a save of step 2 with its manifest, as a launcher uploads them, and the SHA-256 of the manifest. */
export function aDeepSpeedSave(): {
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly manifestSha256: string;
} {
  const folder = join(FIXTURES, 'global_step2');
  const contents = readdirSync(folder).map((path) => [path, readFileSync(join(folder, path))] as const);
  const listed = contents.map(([path, bytes]) => ({
    path,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }));
  const manifest = { formatVersion: 1, engine: 'deepspeed', format: 'deepspeed', step: 2, layout: {}, training: {} };
  const text = Buffer.from(JSON.stringify({ ...manifest, files: listed }));
  return {
    files: { ...Object.fromEntries(contents), 'manifest.json': text },
    manifestSha256: createHash('sha256').update(text).digest('hex'),
  };
}

/** A program that writes what DeepSpeed's converter made of that save. Returns how it is started. */
export function aUniversalConverter(directory: string): readonly string[] {
  const program = join(directory, 'convert.sh');
  writeFileSync(program, `#!/bin/sh\ncp -R "${FIXTURES}/global_step2_universal/." universal/\n`);
  chmodSync(program, 0o755);
  return [program];
}
