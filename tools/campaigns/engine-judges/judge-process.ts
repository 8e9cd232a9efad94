/** How is a judge asked, which is a program in Python beside the engine's own source? */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** Lines that the program writes. Its complaints are shown where it fails. */
export async function linesOf(
  [python, ...args]: readonly [string, ...(readonly string[])],
  input: string,
): Promise<readonly string[]> {
  const child = spawn(python, ['-W', 'ignore', ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  let complaints = '';
  child.stderr.on('data', (bytes: Buffer) => {
    complaints = (complaints + bytes.toString()).slice(-4000);
  });
  child.stdin.end(input);
  const ended = new Promise<number | null>((done, failed) => child.on('error', failed).on('close', done));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) lines.push(line);
  const code = await ended;
  if (code !== 0) throw new Error(`${args[0] ?? python} ended with ${code ?? 'a signal'}: ${complaints}`);
  return lines;
}

/** What the checkout has otherwise than what is committed, line by line. */
export function driftBetween(lines: readonly string[], committed: string): readonly string[] {
  const theirs = new Set(lines);
  const ours = new Set(committed.trimEnd().split('\n'));
  return [
    ...[...theirs].filter((line) => !ours.has(line)).map((line) => `the checkout has ${line}, which is not committed`),
    ...[...ours].filter((line) => !theirs.has(line)).map((line) => `${line} is committed, and the checkout has none`),
  ];
}
