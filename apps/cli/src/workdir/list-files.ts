import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { join, posix } from 'node:path';
import { UNNEEDED_FOLDERS, WITHHELD_FILES } from '@coxswain/api-types';
import ignoreRules from 'ignore';
import { CliError } from '../cli-error.ts';

/** A file or link of a working directory. */
export interface WorkdirFile {
  /** Relative to the directory, with `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly isExecutable: boolean;
  /** Of a symbolic link; undefined: a file. */
  readonly target?: string;
}

/** What a directory ships, and what it keeps. */
export interface WorkdirFiles {
  readonly files: readonly WorkdirFile[];
  /** Files and directories of credentials that are never shipped. */
  readonly withheld: readonly string[];
}

const NEVER: ReadonlySet<string> = new Set(UNNEEDED_FOLDERS);
const WITHHELD = new RegExp(WITHHELD_FILES);
const MAX_LISTING_BYTES = 256 << 20;

/**
 * Files of the directory, sorted. In a git repository those that git tracks or would track; elsewhere .gitignore files are obeyed as git does. Empty directories are
 * left out. Throws CliError, with every link that leads outside.
 */
export function listFiles(root: string): WorkdirFiles {
  if (!existsSync(root) || !lstatSync(join(root, '.')).isDirectory())
    throw new CliError(`The working directory ${root} is no directory.`);
  const found = filesBelow(root, '').filter(({ path }) => !path.split('/').some((part) => NEVER.has(part)));
  const files = found.filter(({ path }) => withheldPart(path) === undefined);
  const outside = files.filter(({ path, target }) => target !== undefined && leadsOutside(path, target));
  if (outside.length > 0)
    throw new CliError(
      `These links of ${root} lead outside of it, where a pod has other files:\n${outside.map(({ path, target }) => `  ${path} -> ${target ?? ''}`).join('\n')}\nRemove them, add them to .gitignore, or ship the directory above.`,
    );
  return {
    files: files.toSorted((one, other) => Buffer.compare(Buffer.from(one.path), Buffer.from(other.path))),
    withheld: [...new Set(found.flatMap(({ path }) => withheldPart(path) ?? []))].toSorted(),
  };
}

/** The path up to the name that holds credentials. */
function withheldPart(path: string): string | undefined {
  const match = WITHHELD.exec(path.toLowerCase());
  return match === null ? undefined : path.slice(0, match.index + match[0].length);
}

function filesBelow(root: string, prefix: string): readonly WorkdirFile[] {
  const listed = listedByGit(join(root, prefix));
  if (listed === undefined) return walk(root, prefix, []);
  return listed.flatMap((name) => {
    const path = prefix === '' ? name : `${prefix}/${name}`;
    const stats = statsOf(join(root, path));
    // A file that git tracks can be deleted, and another repository is listed as one entry.
    if (stats === undefined) return [];
    if (!stats.isDirectory()) return toFile(root, path, stats);
    // A submodule that was not checked out is an empty directory: git would list the repository around it.
    return existsSync(join(root, path, '.git')) ? filesBelow(root, path) : walk(root, path, []);
  });
}

/** Names relative to `directory`; undefined: it is in no repository, or there is no git. */
function listedByGit(directory: string): readonly string[] | undefined {
  const args = ['-C', directory, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { status, stdout, error } = spawnSync('git', args, { encoding: 'utf8', maxBuffer: MAX_LISTING_BYTES });
  if (error !== undefined || status !== 0) return undefined;
  const names = stdout.split('\0').map((name) => name.replace(/\/$/, ''));
  return [...new Set(names)].filter((name) => name !== '' && name !== '.');
}

type Ignore = ReturnType<typeof ignoreRules.default>;

/** The rules of one .gitignore, which hold below its directory. */
interface Rules {
  readonly below: string;
  readonly matcher: Ignore;
}

function walk(root: string, prefix: string, above: readonly Rules[]): readonly WorkdirFile[] {
  const rulesFile = join(root, prefix, '.gitignore');
  const own = existsSync(rulesFile)
    ? [{ below: prefix, matcher: ignoreRules.default().add(readFileSync(rulesFile, 'utf8')) }]
    : [];
  const rules = [...above, ...own];
  return readdirSync(join(root, prefix)).flatMap((name) => {
    const path = prefix === '' ? name : `${prefix}/${name}`;
    const stats = statsOf(join(root, path));
    if (stats === undefined || NEVER.has(name) || isIgnored(stats.isDirectory() ? `${path}/` : path, rules)) return [];
    return stats.isDirectory() ? walk(root, path, rules) : toFile(root, path, stats);
  });
}

/** The nearest file that says something decides, as in git. */
function isIgnored(path: string, rules: readonly Rules[]): boolean {
  for (const { below, matcher } of rules.toReversed()) {
    const { ignored, unignored } = matcher.test(below === '' ? path : path.slice(below.length + 1));
    if (ignored || unignored) return ignored;
  }
  return false;
}

function statsOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** Nothing of sockets, pipes and devices. */
function toFile(root: string, path: string, stats: Stats): readonly WorkdirFile[] {
  if (stats.isSymbolicLink()) return [{ path, bytes: 0, isExecutable: false, target: readlinkSync(join(root, path)) }];
  return stats.isFile() ? [{ path, bytes: stats.size, isExecutable: (stats.mode & 0o100) !== 0 }] : [];
}

function leadsOutside(path: string, target: string): boolean {
  const end = posix.normalize(posix.join(posix.dirname(path), target));
  return posix.isAbsolute(target) || end === '..' || end.startsWith('../');
}
