import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOOK } from '../checkpoints/verifier-process.ts';

/** NODE_OPTIONS by which a launcher does so where it looks at a checkpoint, and nowhere else. */
export function whereLooked(directory: string, act: string): string {
  const module = join(directory, 'where-looked.mjs');
  writeFileSync(
    module,
    `import { existsSync, open, writeFileSync } from 'node:fs';\nif (process.argv[2] === '${LOOK}') ${act}\n`,
  );
  return `--import ${module}`;
}

/**
 * No call to the file system returns: each thread that could make one opens a pipe that nobody writes to. So hangs a process whose file server answers nothing.
 */
export function hangs(directory: string): string {
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  return `for (let thread = 0; thread < 4; thread++) open(${JSON.stringify(pipe)}, 'r', () => {});`;
}

/** The same, once: whoever looks again is answered. */
export function hangsOnce(directory: string): string {
  const mark = JSON.stringify(join(directory, 'has-hung'));
  return `if (!existsSync(${mark})) { writeFileSync(${mark}, ''); ${hangs(directory)} }`;
}
