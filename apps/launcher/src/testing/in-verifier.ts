import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERIFY_CHECKPOINT } from '../checkpoints/verifier-process.ts';

/** NODE_OPTIONS that run `act` in the process that verifies a checkpoint, and in no other process of the launcher. */
export function inVerifier(directory: string, act: string): string {
  const module = join(directory, 'in-verifier.mjs');
  writeFileSync(
    module,
    `import { existsSync, open, writeFileSync } from 'node:fs';\nif (process.argv[2] === '${VERIFY_CHECKPOINT}') ${act}\n`,
  );
  return `--import ${module}`;
}

/**
 * Code after which no call to the file system returns, as if the file server answered nothing: each thread opens a pipe without a writer.
 */
export function hangs(directory: string): string {
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  return `for (let thread = 0; thread < 4; thread++) open(${JSON.stringify(pipe)}, 'r', () => {});`;
}

/** The same for the first verification only. */
export function hangsOnce(directory: string): string {
  const mark = JSON.stringify(join(directory, 'has-hung'));
  return `if (!existsSync(${mark})) { writeFileSync(${mark}, ''); ${hangs(directory)} }`;
}
