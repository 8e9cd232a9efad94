/**
 * `node tools/test/compare-runs.ts BEFORE AFTER`: which tests only one of two runs has. Each is a record that `npm test` keeps and names at its end.
 * Exit code 1 if the second run lacks a test of the first.
 */
import { readFileSync } from 'node:fs';
import type { FileRun } from './results.ts';
import { compareNames } from './run-record.ts';

const [before, after] = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, 'utf8')) as FileRun[]);
if (before === undefined || after === undefined) {
  throw new Error('name two records: node tools/test/compare-runs.ts BEFORE.json AFTER.json');
}
const differences = compareNames(before, after);
process.stdout.write(differences.map((line) => `${line}\n`).join(''));
process.exitCode = differences.some((line) => line.startsWith('- ')) ? 1 : 0;
