import type { Finding } from './findings.ts';

/** Findings in messages that were there before the check, by file. A file that is not named may have none. */
export type Baseline = Readonly<Record<string, number>>;

/** The findings of files that have more than the baseline allows. */
export function newFindings(findings: readonly Finding[], baseline: Baseline): Finding[] {
  const counts = countByPath(findings);
  return findings.filter(({ path }) => (counts[path] ?? 0) > (baseline[path] ?? 0));
}

/**
 * The baseline of these findings. Files may have moved, so that one file may have more than before; the sum must not grow.
 * Throws if it does.
 */
export function shrunkBaseline(findings: readonly Finding[], baseline: Baseline): Baseline {
  const [before, now] = [sumOf(baseline), findings.length];
  if (now > before) {
    throw new Error(
      `The baseline allows ${before} findings in messages and there are ${now}. A baseline may only shrink: rewrite the new messages first.`,
    );
  }
  return countByPath(findings);
}

/** Whether fewer findings are left than the baseline allows, so that it can be written anew. */
export function canShrink(findings: readonly Finding[], baseline: Baseline): boolean {
  return findings.length < sumOf(baseline);
}

function countByPath(findings: readonly Finding[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const path of findings.map((finding) => finding.path).sort()) counts[path] = (counts[path] ?? 0) + 1;
  return counts;
}

function sumOf(baseline: Baseline): number {
  return Object.values(baseline).reduce((sum, count) => sum + count, 0);
}
