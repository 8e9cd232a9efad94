import type { ReactNode } from 'react';
import { LEVEL_MEANINGS, VERDICT_MEANINGS, type ShownVerdict } from '../checkpoints/format-verdict.ts';
import { FactList } from './fact-list.tsx';

/** A verdict about a checkpoint; what it means is under the pointer, and in the legend. */
export function VerdictPill({ verdict: { words, tone, meaning } }: { readonly verdict: ShownVerdict }): ReactNode {
  return (
    <span className={`pill ${tone}`} title={meaning}>
      {words}
    </span>
  );
}

/** What each verdict means, and how closely each level reads. */
export function VerdictLegend(): ReactNode {
  return (
    <details className="verdict-legend">
      <summary>What the verdicts mean</summary>
      <FactList className="evidence" facts={Object.entries(VERDICT_MEANINGS)} />
      <p className="hint">
        The level in brackets says what was read.{' '}
        {Object.entries(LEVEL_MEANINGS)
          .map(([level, meaning]) => `${level}: ${meaning}.`)
          .join(' ')}
      </p>
    </details>
  );
}
