/** Reads files of measurements that a user names on the command line. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MeasurementsError, readRows, withoutRepeatedIds, type MeasuredRow } from './measured-row.ts';

/** The rows of several files, in the order of the files. */
export interface MeasurementFiles {
  readonly rows: readonly MeasuredRow[];
  /** Name of the file by row id. */
  readonly files: ReadonlyMap<string, string>;
}

/** The published measurements that come with the repository: read where a user names no file. */
const REPOSITORY_FILES = ['measurements.csv', 'measurements_single_node.csv'].map((name) =>
  fileURLToPath(new URL(`../../data/${name}`, import.meta.url)),
);

/** Files of measurements that no constant is fitted on. */
export function filesKeptApart(): readonly string[] {
  const data = fileURLToPath(new URL('../../data/', import.meta.url));
  return readdirSync(data)
    .filter((name) => /^measurements_.*_kept_apart[.]csv$/.test(name))
    .sort()
    .map((name) => `${data}${name}`);
}

/** The paths as they are; if there are none, the repository's two files of published measurements. */
export function filesOrRepository(paths: readonly string[]): readonly string[] {
  return paths.length === 0 ? REPOSITORY_FILES : paths;
}

/** @throws Error that names the file and what is wrong with it */
export function readMeasurements(paths: readonly string[]): MeasurementFiles {
  const files = new Map<string, string>();
  const rows = paths.flatMap((path) => {
    const read = rowsOfFile(path);
    for (const { id } of read) if (!files.has(id)) files.set(id, basename(path));
    return read;
  });
  return { rows: withoutRepeatedIds(rows), files };
}

function rowsOfFile(path: string): readonly MeasuredRow[] {
  const text = textOf(path);
  try {
    return readRows(text);
  } catch (error) {
    throw error instanceof MeasurementsError ? new Error(`${path}: ${error.message}`) : error;
  }
}

/** npm runs scripts in the root of the repository; a relative path means the directory in which npm was called. */
export function textOf(file: string): string {
  const path = resolve(process.env['INIT_CWD'] ?? process.cwd(), file);
  if (!existsSync(path)) throw new Error(`${file} cannot be read: there is no ${path}`);
  return readFileSync(path, 'utf8');
}
