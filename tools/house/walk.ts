import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A way through the code, as a reader follows it: from file to file. */
export interface Walk {
  /** How often a file is come to; functions of one file in a row are one stay. */
  readonly stays: number;
  /** Stays in a file that was left before. */
  readonly returns: number;
  readonly files: number;
}

/** The walk through functions in the order in which they are entered for the first time, each as `path name`. */
export function walkOf(entries: readonly string[]): Walk {
  const paths = entries.map((entry) => placeOf(entry.slice(0, entry.indexOf(' '))));
  const stays = paths.filter((path, index) => path !== paths[index - 1]);
  const files = new Set(stays).size;
  return { stays: stays.length, returns: stays.length - files, files };
}

/** Layout rules are rows of one table, so their files are one place. */
function placeOf(path: string): string {
  return path.replace(/^libs\/layout\/src\/rules\/.*/, 'libs/layout/src/rules');
}

/** The part of the entries that lies between reading a document and the last function that makes seconds. */
export function wayToSeconds(entries: readonly string[]): string[] {
  const first = entries.findIndex((entry) => /^apps\/cli\/\S*layout-file\.ts /.test(entry));
  const last = entries.findLastIndex((entry) => /^libs\/planner\/src\/time\//.test(entry));
  if (first === -1 || last < first) {
    throw new Error(
      'the command line entered no function of layout-file.ts and then of the planner: mend tools/house/walk.ts',
    );
  }
  return entries.slice(first, last + 1);
}

const LAYOUT = 'examples/layouts/02-ptd-p.yaml';

/** What `coxswain predict` enters on its way from the YAML of an interleaved layout to the seconds of a step, in the checkout `root`. */
export function traceLayoutToSeconds(root: string): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-house-'));
  const trace = join(directory, 'trace');
  try {
    const hook = join(import.meta.dirname, 'trace-calls.ts');
    execFileSync(process.execPath, ['--import', hook, 'apps/cli/bin/coxswain.mjs', 'predict', LAYOUT], {
      cwd: root,
      env: { ...process.env, COXSWAIN_TRACE: trace, COXSWAIN_TRACED_ROOT: root },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return wayToSeconds(readFileSync(trace, 'utf8').trim().split('\n'));
  } finally {
    if (existsSync(directory)) rmSync(directory, { recursive: true });
  }
}
