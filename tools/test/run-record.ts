import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from '@coxswain/local-cluster';
import type { FileRun } from './results.ts';

const SLOWEST = 10;
const KEPT_RECORDS = 20;
/** What a file should take, by the end of its name. A file above it is reported, and fails nothing. */
const BUDGETS_MS: readonly (readonly [ending: string, ms: number])[] = [
  ['.itest.ts', 120_000],
  ['.spec.ts', 20_000],
];

/** The ten slowest files of a run, and those above their budget, a line each. */
export function describeDurations(files: readonly FileRun[]): string {
  if (files.length === 0) return '';
  const slowest = files.toSorted((left, right) => right.ms - left.ms).slice(0, SLOWEST);
  const above = files.filter((run) => run.ms > budgetMs(run)).toSorted((left, right) => right.ms - left.ms);
  const budgets = above.map((run) => `${line(run)} (budget ${budgetMs(run) / 1000} s)\n`);
  return [
    'Slowest files:\n',
    ...slowest.map((run) => `${line(run)}\n`),
    ...(budgets.length === 0 ? [] : ['Above the budget of their kind:\n', ...budgets]),
  ].join('');
}

function budgetMs({ file }: FileRun): number {
  return BUDGETS_MS.find(([ending]) => file.endsWith(ending))?.[1] ?? Infinity;
}

function line({ file, ms }: FileRun): string {
  return `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`;
}

/** Keeps the duration and the test names of each file in the user's cache, and gives the path of the record. Old records go. */
export function keepRecord(files: readonly FileRun[], now: Date): string {
  const folder = join(cacheDirectory(), 'test-runs');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${now.toISOString().replaceAll(':', '-')}.json`);
  writeFileSync(path, `${JSON.stringify(files, null, 1)}\n`);
  const records = readdirSync(folder).sort();
  for (const old of records.slice(0, Math.max(0, records.length - KEPT_RECORDS))) rmSync(join(folder, old));
  return path;
}

/**
 * The tests of two runs that only one of them has: `- name` of the first, `+ name` of the second. Names count without their files: a test that
 * moved to another file is the same test.
 */
export function compareNames(before: readonly FileRun[], after: readonly FileRun[]): readonly string[] {
  return [
    ...withoutThose(namesOf(before), namesOf(after)).map((name) => `- ${name}`),
    ...withoutThose(namesOf(after), namesOf(before)).map((name) => `+ ${name}`),
  ];
}

function namesOf(files: readonly FileRun[]): string[] {
  return files.flatMap(({ tests }) => tests);
}

/** What is left of `names` when each of `others` has taken one like itself away. */
function withoutThose(names: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const other of others) left.set(other, (left.get(other) ?? 0) + 1);
  return names.filter((name) => {
    const count = left.get(name) ?? 0;
    left.set(name, count - 1);
    return count <= 0;
  });
}
