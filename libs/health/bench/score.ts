/** How well was a labelled trace judged? */
import type { LabelledTrace } from '../src/testing/generate-trace.ts';
import type { Scenario } from '../src/testing/scenario.ts';
import type { Verdict } from '../src/verdict/verdict.ts';
import { watchHealth } from '../src/watch/watch-health.ts';
import { nvrxScores } from './nvrx-score.ts';

export interface Score {
  readonly faults: number;
  readonly found: number;
  readonly delaysMs: readonly number[];
  /** Verdicts that name the fault, and those that name anything else. */
  readonly right: number;
  readonly wrong: readonly Verdict[];
  readonly hours: number;
  readonly nvrxFound: number;
  readonly nvrxWrong: number;
}

/** What is so and blames nobody: silence where reports are lost, and that steps became slower. */
const STATEMENTS: ReadonlySet<string> = new Set(['blind', 'slowJob']);

export function scoreTrace(scenario: Scenario, trace: LabelledTrace): Score {
  const watch = watchHealth(trace.header);
  const nvrx = nvrxScores();
  const verdicts: Verdict[] = [];
  const alarms: { atMs: number; rank: number }[] = [];
  let endMs = 0;
  for (const record of trace.records) {
    verdicts.push(...watch.observe(record));
    alarms.push(...nvrx.observe(record));
    if (record.kind !== 'group') endMs = record.atMs;
  }
  const { onsetMs, ranks } = trace.truth;
  const names = (verdict: Verdict, fault: number): boolean => {
    const kinds = scenario.expected.length === ranks.length ? [scenario.expected[fault]] : scenario.expected;
    const blamed = ranks[fault] ?? [];
    const right =
      verdict.ranks.length === 0 ? blamed.length === 0 : verdict.ranks.every((rank) => blamed.includes(rank));
    return kinds.includes(verdict.kind) && right;
  };
  const always = new Set(['stage']);
  const from = scenario.faults.some(({ kind }) => always.has(kind)) ? 0 : onsetMs;
  const isRight = (verdict: Verdict): boolean =>
    verdict.atMs >= from && ranks.some((_, fault) => names(verdict, fault));
  const firsts = ranks.map((_, fault) => verdicts.find((verdict) => verdict.atMs >= onsetMs && names(verdict, fault)));
  const slow = new Set(
    ranks.flatMap((blamed, fault) => (scenario.faults[fault]?.kind === 'slowCompute' ? blamed : [])),
  );
  return {
    faults: scenario.faults.length,
    found: firsts.filter((first) => first !== undefined).length,
    delaysMs: firsts.flatMap((first) => (first === undefined ? [] : [first.atMs - onsetMs])),
    right: verdicts.filter(
      (verdict) => isRight(verdict) && !(STATEMENTS.has(verdict.kind) && !scenario.expected.includes(verdict.kind)),
    ).length,
    wrong: verdicts.filter((verdict) => !isRight(verdict) && !STATEMENTS.has(verdict.kind)),
    hours: endMs / 3_600_000,
    nvrxFound: [...slow].filter((rank) => alarms.some((alarm) => alarm.rank === rank && alarm.atMs >= onsetMs)).length,
    nvrxWrong: new Set(alarms.filter(({ rank }) => !slow.has(rank)).map(({ rank, atMs }) => `${rank} ${atMs}`)).size,
  };
}
