/** Converts a ledger to the answer of the API: shares, wall time, and spans for a bar. */
import {
  GOODPUT_CATEGORIES,
  type GoodputCategory,
  type GoodputSpan,
  type JobGoodput,
  MAX_GOODPUT_SPANS,
} from '@coxswain/api-types';
import type { JobHistory } from './history.ts';
import { gpuMsOf } from './gpu-time.ts';
import { heldByMonth } from './held-within.ts';
import { ledgerOf, type Span } from './ledger.ts';
import { recoveriesOf, restartPhaseTotals, secondsPerSave } from './recoveries.ts';

/** The goodput of a job as the API answers it. `attemptsLeftOut`: how many older attempts the history lacks. */
export function jobGoodput(history: JobHistory, attemptsLeftOut: number): JobGoodput {
  const ledger = ledgerOf(history);
  const gpuMs = gpuMsOf(ledger);
  const totalMs = Object.values(gpuMs).reduce((sum, ms) => sum + ms, 0);
  const shareOf = (category: GoodputCategory): number => (totalMs === 0 ? 0 : gpuMs[category] / totalMs);
  const wallSeconds = (matches: (span: Span) => boolean): number =>
    ledger.spans.filter(matches).reduce((sum, { fromMs, toMs }) => sum + (toMs - fromMs), 0) / 1000;
  return {
    asOf: textOf(history.asOfMs),
    gpuSeconds: totalMs / 1000,
    goodput: totalMs === 0 ? null : shareOf('productive'),
    shares: (Object.keys(GOODPUT_CATEGORIES) as GoodputCategory[]).map((category) => ({
      category,
      gpuSeconds: gpuMs[category] / 1000,
      share: shareOf(category),
    })),
    heldSeconds: wallSeconds(({ epoch }) => epoch !== null),
    waitingSeconds: wallSeconds(({ spent }) => spent === 'waiting'),
    suspendedSeconds: wallSeconds(({ spent }) => spent === 'suspended'),
    spans: shownSpans(ledger.spans).map(({ fromMs, toMs, ...span }) => ({
      from: textOf(fromMs),
      to: textOf(toMs),
      ...span,
    })),
    months: [...heldByMonth(ledger)],
    recoveries: [...recoveriesOf(history)],
    restartPhases: [...restartPhaseTotals(history)],
    secondsPerSave: secondsPerSave(history),
    saveStops: [...history.saveStops],
    attemptsLeftOut,
  };
}

type ShownSpan = Omit<Span, 'epoch'> & { readonly epoch: GoodputSpan['epoch'] };

/** At most {@link MAX_GOODPUT_SPANS} spans. If there are more, each is an equal slice of time and shows what took most of it. */
function shownSpans(spans: readonly Span[]): readonly ShownSpan[] {
  const joined = joinedSpans(spans);
  if (joined.length <= MAX_GOODPUT_SPANS) return joined;
  const fromMs = joined[0]?.fromMs ?? 0;
  const widthMs = ((joined.at(-1)?.toMs ?? fromMs) - fromMs) / MAX_GOODPUT_SPANS;
  let next = 0;
  const slices = Array.from({ length: MAX_GOODPUT_SPANS }, (_, index) => {
    const slice = { fromMs: Math.round(fromMs + index * widthMs), toMs: Math.round(fromMs + (index + 1) * widthMs) };
    while ((joined[next]?.toMs ?? Infinity) <= slice.fromMs) next += 1;
    const within: ShownSpan[] = [];
    for (let at = next; (joined[at]?.fromMs ?? Infinity) < slice.toMs; at += 1) within.push(joined[at] as ShownSpan);
    return { ...mostOf(within, slice), ...slice };
  });
  return joinedSpans(slices.filter(({ fromMs: from, toMs: to }) => to > from));
}

function mostOf(
  spans: readonly ShownSpan[],
  slice: Pick<Span, 'fromMs' | 'toMs'>,
): Pick<ShownSpan, 'spent' | 'gpus' | 'epoch'> {
  const timeOf = ({ fromMs, toMs }: ShownSpan): number => Math.min(toMs, slice.toMs) - Math.max(fromMs, slice.fromMs);
  const bySpent = Map.groupBy(spans, ({ spent }) => spent);
  const [most] = [...bySpent.values()].toSorted((left, right) => sum(right, timeOf) - sum(left, timeOf));
  const longest = most?.toSorted((left, right) => timeOf(right) - timeOf(left))[0];
  const epochs = new Set(spans.map(({ epoch }) => epoch));
  return {
    spent: longest?.spent ?? 'other',
    gpus: longest?.gpus ?? 0,
    epoch: epochs.size === 1 ? (longest?.epoch ?? null) : null,
  };
}

function sum(spans: readonly ShownSpan[], timeOf: (span: ShownSpan) => number): number {
  return spans.reduce((total, span) => total + timeOf(span), 0);
}

/** Merges adjacent spans that are equal. */
function joinedSpans(spans: readonly ShownSpan[]): readonly ShownSpan[] {
  const joined: ShownSpan[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    const isSame = last?.spent === span.spent && last.gpus === span.gpus && last.epoch === span.epoch;
    if (last !== undefined && isSame) joined[joined.length - 1] = { ...last, toMs: span.toMs };
    else joined.push(span);
  }
  return joined;
}

function textOf(ms: number): string {
  return new Date(ms).toISOString();
}
