/**
 * Does each page show what its commands print? `npm run docs:commands` writes it there; a test compares.
 *
 * A block ```console holds one command (`$ coxswain ...`, which the shell runs) and its output; a last line `…` says that it goes on. A block
 * is left alone where the line above it is a comment `<!-- not run: ... -->` that says why.
 */
import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');
const PROGRAM = join(ROOT, 'apps/cli/bin/coxswain.mjs');
const BLOCK = /(?<=^|\n)(<!-- not run: .+ -->\n\n?)?```console\n([\s\S]*?)```\n/g;
const GOES_ON = '…';
const LONGEST_MS = 120_000;

/** A command as a page shows it. */
export interface DocumentedCommand {
  readonly page: string;
  /** As a shell takes it, over several lines where the page breaks it. */
  readonly command: string;
  readonly shown: readonly string[];
  /** The page leaves out how the output ends. */
  readonly goesOn: boolean;
}

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/** Every command that is run, in the order of pages and lines. */
export function documentedCommands(): readonly DocumentedCommand[] {
  return globSync('{README.md,{docs,examples,apps,engines}/**/*.md}', { cwd: ROOT, exclude: ['**/node_modules'] })
    .sort()
    .flatMap((page) => commandsIn(page, readFileSync(join(ROOT, page), 'utf8')));
}

/** The commands of one page. Throws when a block does not begin with one. */
export function commandsIn(page: string, text: string): readonly DocumentedCommand[] {
  return [...text.matchAll(BLOCK)].flatMap(([, notRun, block = '']) =>
    notRun === undefined ? [{ page, ...commandOf(page, block) }] : [],
  );
}

/** The page with what its commands print, in their order. What a page leaves out at the end stays left out. */
export function withOutputs(page: string, text: string, outputs: readonly (readonly string[])[]): string {
  let index = 0;
  return text.replace(BLOCK, (whole, notRun: string | undefined, block: string) => {
    if (notRun !== undefined) return whole;
    const { command, shown, goesOn } = commandOf(page, block);
    const printed = asShown(outputs[index++] ?? [], { shown, goesOn });
    return ['```console', `$ ${command}`, ...printed, ...(goesOn ? [GOES_ON] : []), '```\n'].join('\n');
  });
}

/** What the page would show of these lines: as many as now, where it goes on; the duration that it has, where they tell one. */
export function asShown(
  lines: readonly string[],
  { shown, goesOn }: Pick<DocumentedCommand, 'shown' | 'goesOn'>,
): readonly string[] {
  return (goesOn ? lines.slice(0, shown.length) : lines).map((line, index) => {
    const now = shown[index] ?? '';
    return withoutDuration(line) === withoutDuration(now) ? now : line;
  });
}

/**
 * What a command prints, run in an empty folder beside the examples. Standard error counts if standard output is empty. A page may show a refusal; it
 * rejects when a command was killed, or took longer than two minutes.
 */
export async function outputOf(command: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-commands-'));
  try {
    symlinkSync(join(ROOT, 'examples'), join(folder, 'examples'));
    writeFileSync(join(folder, 'coxswain'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`, {
      mode: 0o755,
    });
    const env = { PATH: [folder, process.env['PATH']].join(delimiter), HOME: folder };
    const run = await promisify(execFile)('/bin/sh', ['-c', command], { cwd: folder, env, timeout: LONGEST_MS }).catch(
      (error: Partial<Printed> & { readonly code?: unknown }) => {
        const { code, stdout = '', stderr = '' } = error;
        if (typeof code === 'number') return { stdout, stderr };
        throw error;
      },
    );
    return (run.stdout || run.stderr).trimEnd().split('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function commandOf(page: string, block: string): Omit<DocumentedCommand, 'page'> {
  const lines = block.trimEnd().split('\n');
  const first = lines[0] ?? '';
  if (!first.startsWith('$ ')) throw new Error(`${page}: a block of the console begins with "${first}", not with "$ "`);
  const end = lines.findIndex((line) => !line.endsWith('\\')) + 1;
  const goesOn = lines.at(-1) === GOES_ON;
  const command = lines.slice(0, end).join('\n').slice(2);
  return { command, shown: lines.slice(end, goesOn ? -1 : undefined), goesOn };
}

function withoutDuration(line: string): string {
  return line.replace(/ chosen in \d+ ms/, '');
}

async function main(): Promise<void> {
  for (const [page, commands] of Map.groupBy(documentedCommands(), ({ page }) => page)) {
    const outputs: (readonly string[])[] = [];
    for (const { command } of commands) {
      console.log(`${page}: ${command.split('\n')[0]}`);
      outputs.push(await outputOf(command));
    }
    const path = join(ROOT, page);
    writeFileSync(path, withOutputs(page, readFileSync(path, 'utf8'), outputs));
  }
}

if (import.meta.main) await main();
