/** Which runs are laid over each other, and how, as the address of the page has it. */
import { type CurveView, X_AXES } from './run-series.ts';

export interface CurveChoice extends CurveView {
  readonly isLogarithmic: boolean;
  /** Ids of other jobs of the project. */
  readonly others: readonly string[];
}

/** More lines cannot be distinguished. */
export const MOST_OTHERS = 2;
export const MOST_SMOOTHING = 0.99;

export function curveChoiceOf(query: URLSearchParams): CurveChoice {
  const smoothing = Number(query.get('smoothing') ?? 0);
  return {
    axis: X_AXES.find((axis) => axis === query.get('x')) ?? 'steps',
    smoothing: smoothing > 0 && smoothing <= MOST_SMOOTHING ? smoothing : 0,
    isLogarithmic: query.get('log') === '1',
    others: [...new Set((query.get('with') ?? '').split(',').filter((id) => id !== ''))].slice(0, MOST_OTHERS),
  };
}

/** The query with that choice; values of the first visit are left out. Other parameters stay. */
export function withCurveChoice(query: URLSearchParams, choice: CurveChoice): URLSearchParams {
  const next = new URLSearchParams(query);
  const set = (name: string, value: string): void => {
    if (value === '') next.delete(name);
    else next.set(name, value);
  };
  set('x', choice.axis === 'steps' ? '' : choice.axis);
  set('smoothing', choice.smoothing === 0 ? '' : String(choice.smoothing));
  set('log', choice.isLogarithmic ? '1' : '');
  set('with', choice.others.join(','));
  return next;
}
