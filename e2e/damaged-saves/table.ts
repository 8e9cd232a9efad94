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
