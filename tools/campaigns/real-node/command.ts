import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Runs a program to its end and gives its output; rejects with its own words when it fails. */
export async function command(
  program: string,
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string | undefined>>; readonly cwd?: string } = {},
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, [...args], {
      maxBuffer: 256 * 2 ** 20,
      ...options,
      env: { ...process.env, ...options.env },
    });
    return stdout;
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    throw new Error(`${program} ${args.slice(0, 4).join(' ')}: ${stderr.trim() || message}`, { cause: error });
  }
}
