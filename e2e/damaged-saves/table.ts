/** What a damage came to, for people. */
import type { Restart } from './damaged-run.ts';

/** The verdict of one level. */
export interface LevelVerdict {
  readonly level: string;
  readonly verdict: string;
  readonly exitCode: number;
  readonly finding: string | undefined;
}

/** One damage of one engine's save. */
export interface Row {
  readonly engine: string;
  readonly damage: string;
  readonly levels: readonly LevelVerdict[];
  /** The same of the engine's files alone. */
  readonly withoutManifest?: readonly LevelVerdict[];
  readonly library: string;
  readonly restart?: Restart;
  readonly complaints: readonly string[];
}

/** Rows as text, with everything that was seen. */
export function describeRows(rows: readonly Row[]): string {
  return rows
    .map(({ engine, damage, levels, withoutManifest, library, restart, complaints }) =>
      [
        `${complaints.length === 0 ? '✓' : '✗'} ${engine}, ${damage}: ${verdictsOf(levels)}; the library ${library}`,
        ...(levels.at(-1)?.finding === undefined ? [] : [`  ${levels.at(-1)?.finding ?? ''}`]),
        ...(withoutManifest === undefined ? [] : [`  without its manifest: ${verdictsOf(withoutManifest)}`]),
        ...(restart === undefined
          ? []
          : [
              `  resumed from step ${restart.resumedFrom} after ${restart.passedOver} attempts; ${restart.comparedSteps} losses compared`,
            ]),
        ...(restart?.worker === undefined ? [] : [`  the pod found it ${restart.worker}`]),
        ...complaints.map((complaint) => `  ! ${complaint}`),
      ].join('\n'),
    )
    .join('\n');
}

function verdictsOf(levels: readonly LevelVerdict[]): string {
  return levels.map(({ level, verdict }) => `${level} ${verdict}`).join(', ');
}

const COLUMNS = [
  'Damage',
  'First found by',
  "By the engine's files alone",
  'Loading it without Coxswain',
  'Job resumed from',
];

/** Rows of one engine as the Markdown of the page. */
export function markdownOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => [
    row.damage === 'none' ? 'none, for comparison' : row.damage,
    foundBy(row.levels),
    row.withoutManifest === undefined ? '' : foundBy(row.withoutManifest),
    row.library,
    resumedFrom(row),
  ]);
  return [COLUMNS, COLUMNS.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The least close level that finds something, and its verdict. */
function foundBy(levels: readonly LevelVerdict[]): string {
  const found = levels.find(({ exitCode }) => exitCode !== 0);
  if (found !== undefined) return `${found.level}: ${found.verdict}`;
  const { verdict = 'sound' } = levels.at(-1) ?? {};
  return verdict === 'sound' ? 'no level: sound' : `no level: V3 says ${verdict}`;
}

function resumedFrom({ restart, complaints }: Row): string {
  if (restart === undefined) return '';
  const after = restart.worker === undefined ? '' : ', once V3 was asked for';
  return complaints.length === 0 ? `the save before${after}` : `step ${restart.resumedFrom}: ${complaints[0] ?? ''}`;
}
