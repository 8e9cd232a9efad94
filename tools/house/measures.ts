import { declaredExports } from './exports.ts';
import { twoWayPairs, unlistedFolders, type FolderOrder } from './folders.ts';
import { namedFunctions, parse } from './functions.ts';
import { importsOf, indexExports, type PackageManifest } from './imports.ts';
import { isMeasured, isTest, lineCount, packageOf, type SourceText } from './sources.ts';
import type { Walk } from './walk.ts';
import type { ProseKind } from '../style/prose.ts';

/** The middle, what nine of ten do not exceed, and the largest. */
export interface Spread {
  readonly p50: number;
  readonly p90: number;
  readonly max: number;
}

/** What is known of the code as a whole and of each package. Lengths are in lines. */
export interface Measures {
  readonly functions: Spread;
  /** Share of functions above 50 lines. */
  readonly longFunctions: number;
  readonly files: Spread;
  /** Share of exported names that have a documentation comment. */
  readonly documentedExports: number;
  /** Share of the names that entry files of libraries export that have a documentation comment. */
  readonly documentedIndexExports: number;
  /** Folders that the order of their package does not list. */
  readonly unlistedFolders: number;
  /** Pairs of folders of one package whose files import each other. */
  readonly twoWayPairs: number;
  /** Lines of tests, and of what serves tests alone, per line of the rest; by package, and of all as 'all'. */
  readonly testPerSource: ReadonlyMap<string, number>;
}

/** What is known of the repository beside its files. */
export interface Workspace {
  readonly packages: readonly PackageManifest[];
  readonly folderOrder: FolderOrder;
}

const LONG_FUNCTION = 50;

/** The measures of `sources`: functions, files and exports of TypeScript in apps, libs and tools; tests of everything. */
export function measure(sources: readonly SourceText[], { packages, folderOrder }: Workspace): Measures {
  const measured = sources.filter(({ path }) => isMeasured(path));
  const parsed = measured.map(parse);
  const lengths = parsed.flatMap(namedFunctions).map(({ lines }) => lines);
  const exported = parsed.flatMap(declaredExports);
  const imports = importsOf(sources, packages);
  return {
    functions: spreadOf(lengths),
    longFunctions: share(lengths, (lines) => lines > LONG_FUNCTION),
    files: spreadOf(measured.map(({ text }) => lineCount(text))),
    documentedExports: share(exported, ({ isDocumented }) => isDocumented),
    documentedIndexExports: share(indexExports(sources, packages), ({ isDocumented }) => isDocumented),
    unlistedFolders: unlistedFolders(sources, folderOrder).length,
    twoWayPairs: twoWayPairs(imports).length,
    testPerSource: testPerSource(sources),
  };
}

/** By nearest rank; of nothing, zeros. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number): number => sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p90: at(0.9), max: at(1) };
}

function share<T>(values: readonly T[], holds: (value: T) => boolean): number {
  return values.length === 0 ? 0 : values.filter(holds).length / values.length;
}

function testPerSource(sources: readonly SourceText[]): Map<string, number> {
  const packages = [...new Set(sources.map(({ path }) => packageOf(path)))].sort();
  const ratio = (some: readonly SourceText[]): number => {
    const lines = (ofTests: boolean): number =>
      some.filter(({ path }) => isTest(path) === ofTests).reduce((sum, { text }) => sum + lineCount(text), 0);
    return lines(true) / lines(false);
  };
  const byPackage = packages.map(
    (name) => [name, ratio(sources.filter(({ path }) => packageOf(path) === name))] as const,
  );
  return new Map([...byPackage.filter(([, value]) => Number.isFinite(value)), ['all', ratio(sources)]]);
}

/** The measures as a table in Markdown. `style` has the findings of the style check by kind. */
export function describeMeasures(measures: Measures, walk: Walk, style: Readonly<Record<ProseKind, number>>): string {
  const spread = ({ p50, p90, max }: Spread): string => `${p50} / ${p90} / ${max}`;
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  const rows = [
    ['function lines, p50 / p90 / max', spread(measures.functions)],
    ['functions over 50 lines', percent(measures.longFunctions)],
    ['file lines, p50 / p90 / max', spread(measures.files)],
    ['documented exports', percent(measures.documentedExports)],
    ['documented exports of index files', percent(measures.documentedIndexExports)],
    ['unlisted folders', String(measures.unlistedFolders)],
    ['two-way folder pairs', String(measures.twoWayPairs)],
    ['from a layout’s YAML to seconds', `${walk.stays} stays, ${walk.returns} returns, ${walk.files} files`],
    ['style findings, docs / comments / messages', `${style.docs} / ${style.comments} / ${style.messages}`],
    ...[...measures.testPerSource].map(([name, ratio]) => [`test : source, ${name}`, ratio.toFixed(2)]),
  ];
  return ['| What | Measured |', '| --- | --- |', ...rows.map((row) => `| ${row.join(' | ')} |`), ''].join('\n');
}
