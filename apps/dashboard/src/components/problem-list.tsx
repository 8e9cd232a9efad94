import type { ReactNode } from 'react';
import type { FieldProblem } from '../new-job/field-problems.ts';

const EFFECT_WORDS: Readonly<Record<FieldProblem['effect'], string>> = {
  NeedsChange: 'needs a change',
  Waits: 'waits',
  MayFail: 'may fail',
};

interface ProblemListProps {
  readonly problems: readonly FieldProblem[];
  /** Leads to the field. */
  readonly onChoose: (field: string) => void;
}

/** Each problem with field, value, rule and what to do. */
export function ProblemList({ problems, onChoose }: ProblemListProps): ReactNode {
  return (
    <ul className="problem-list">
      {problems.map(({ field, value, rule, change, effect }) => (
        <li key={`${field} ${rule}`} className={effect === 'NeedsChange' ? 'needs-change' : 'only-waits'}>
          {field !== '' && (
            <>
              <button type="button" className="link" onClick={() => onChoose(field)}>
                <code>
                  {field}
                  {value !== undefined && `: ${value}`}
                </code>
              </button>
              <span className="tag">{EFFECT_WORDS[effect]}</span>
            </>
          )}
          <p>{rule}</p>
          {change !== null && change !== rule && <p className="hint">{change}</p>}
        </li>
      ))}
    </ul>
  );
}
