import { execFile, execFileSync } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vitestArguments } from '../../test/parts.ts';
import { ROOT } from '../../test/run-supervised.ts';
import { linkModules } from '../linked-modules.ts';

const run = promisify(execFile);
const MAX_OUTPUT_BYTES = 256 << 20;

/** Whether git has that commit: a shallow clone has not. */
export function isCommitThere(commit: string): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The code of an earlier commit in a folder of its own, with the modules of this tree. */
export class EarlierTree {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async of(commit: string): Promise<EarlierTree> {
    const folder = await mkdtemp(join(tmpdir(), 'coxswain-earlier-'));
    const archive = join(folder, 'tree.tar');
    await run('git', ['archive', '--output', archive, commit], { cwd: ROOT });
    await run('tar', ['-xf', archive, '-C', folder]);
    await rm(archive);
    await linkModules(folder);
    return new EarlierTree(folder);
  }

  /** Puts files and folders of this tree, by their paths, in place of its own. */
  async take(...paths: readonly string[]): Promise<void> {
    for (const path of paths) await cp(join(ROOT, path), join(this.#folder, path), { recursive: true });
  }

  /** Runs a program of it, on a file with that text, and resolves with what the program prints. */
  async run(program: string, text: string): Promise<string> {
    return runOn(this.#folder, program, text);
  }

  /** Runs integration tests of it. Rejects with their output if one fails. */
  async test(paths: readonly string[]): Promise<void> {
    await run(process.execPath, vitestArguments(paths), { cwd: this.#folder, maxBuffer: MAX_OUTPUT_BYTES }).catch(
      (error: { readonly stderr?: string; readonly stdout?: string }) => {
        throw new Error(`${error.stdout ?? ''}${error.stderr ?? ''}`);
      },
    );
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Runs a program of the tree in that folder, on a file with that text. */
export async function runOn(folder: string, program: string, text: string): Promise<string> {
  const scratch = await mkdtemp(join(tmpdir(), 'coxswain-rollback-'));
  try {
    const file = join(scratch, 'input.json');
    await writeFile(file, text);
    const { stdout } = await run(process.execPath, [program, file], { cwd: folder, maxBuffer: MAX_OUTPUT_BYTES });
    return stdout;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
