import type { QueueRuleName } from '../rules/rule-names.ts';
import type { QueueMeasures } from './queue-measures.ts';

/** A goal of the scheduler, and whether a run reached it. */
export interface Bar {
  readonly bar: string;
  readonly wanted: string;
  readonly measured: string;
  /** notMeasured: the scheduler promises nothing, or the rule to compare with did not run. */
  readonly state: 'met' | 'missed' | 'notMeasured';
}

const MOST_ONE_NODE_HOURS = 1.5;
const MOST_PROMISE_ERROR = 0.3;
const MOST_DECISION_MS = 50;

/** The goals for the scheduler of the operator, compared with EASY that knows exact ends. */
export function barsOf(measured: Readonly<Partial<Record<QueueRuleName, QueueMeasures>>>): readonly Bar[] {
  const { coxswain, 'easy-exact': easy } = measured;
  if (coxswain === undefined) return [];
  const broken = Object.values(coxswain.violations).reduce((sum, count) => sum + count, 0);
  const easyUtilisation = easy === undefined ? undefined : easy.utilisation - UTILISATION_TOLERANCE;
  return [
    atMost('mean wait of the largest jobs, h', coxswain.largest.meanHours, easy?.largest.meanHours),
    atMost('mean wait of one-node jobs, h', coxswain.oneNode.meanHours, MOST_ONE_NODE_HOURS),
    atLeast('utilisation', coxswain.utilisation, easyUtilisation),
    atMost('p90 of the error of promises', coxswain.promises?.errorP90, MOST_PROMISE_ERROR),
    atMost('violations', broken, 0),
    atMost('p99 of a decision, ms', coxswain.p99DecisionMs, MOST_DECISION_MS),
  ];
}

/** EASY's utilisation depends on chance by about as much. */
const UTILISATION_TOLERANCE = 0.005;

type Measured = number | null | undefined;

function atMost(bar: string, value: Measured, most: Measured): Bar {
  return judged({ bar, value, limit: most, words: 'at most', isMet: (found, limit) => found <= limit });
}

function atLeast(bar: string, value: Measured, least: Measured): Bar {
  return judged({ bar, value, limit: least, words: 'at least', isMet: (found, limit) => found >= limit });
}

function judged(question: {
  readonly bar: string;
  readonly value: Measured;
  readonly limit: Measured;
  readonly words: string;
  readonly isMet: (value: number, limit: number) => boolean;
}): Bar {
  const { bar, value, limit, words, isMet } = question;
  const wanted = `${words} ${textOf(limit)}`;
  const measured = textOf(value);
  if (typeof value !== 'number' || typeof limit !== 'number') return { bar, wanted, measured, state: 'notMeasured' };
  return { bar, wanted, measured, state: isMet(value, limit) ? 'met' : 'missed' };
}

function textOf(value: Measured): string {
  return typeof value === 'number' ? String(Math.round(value * 1_000) / 1_000) : '-';
}
