import type { NotFinite, StepReport } from '@coxswain/api-types';
import type { StepFact } from '../facts/engine-facts.ts';
import type { StepLine } from '../step-lines/printed-step.ts';

/** Steps that may wait for a slow rank before they are reported without it. */
const MAX_OPEN_STEPS = 4;
/** How long a step that all ranks reported waits for the printed line with its loss, and a line for another one with more values. */
const LINE_MS = 1_000;
/** How long a line waits for reports of hooks on its step, if hooks report steps at all. */
const FACTS_MS = 5_000;

interface OpenStep {
  readonly facts: Map<number, StepFact>;
  line: { readonly rank: number; readonly printed: StepLine } | undefined;
  /** Time of the last report that it waited for. */
  sinceMs: number;
}

/** Joins the reports of the local ranks' hooks and the printed line of one step into one report. */
export class StepCollector {
  readonly #ranks: number;
  readonly #hasLines: boolean;
  readonly #tokensPerStep: number | null;
  readonly #open = new Map<number, OpenStep>();
  #newestDone = -1;
  #hasFacts = false;
  #late = 0;

  /** With `hasLines`, an engine prints what hooks may not know. `tokensPerStep`: from the job, if no rank reports tokens. */
  constructor(
    ranks: number,
    {
      hasLines = false,
      tokensPerStep = null,
    }: { readonly hasLines?: boolean; readonly tokensPerStep?: number | null } = {},
  ) {
    this.#ranks = ranks;
    this.#hasLines = hasLines;
    this.#tokensPerStep = tokensPerStep;
  }

  /** Reports that came for a step already reported, or a second time. */
  get late(): number {
    return this.#late;
  }

  /** Adds a report; returns the steps that are now complete, in order. */
  push(rank: number, fact: StepFact, nowMs = 0): StepReport[] {
    this.#hasFacts = true;
    const open = this.#at(fact.step, nowMs);
    if (open === undefined || open.facts.has(rank)) {
      this.#late += 1;
      return [];
    }
    open.facts.set(rank, fact);
    open.sinceMs = nowMs;
    return this.#settle(fact.step, open);
  }

  /** Adds a printed line. A line without a step belongs to the newest step that hooks reported. */
  note(rank: number, printed: StepLine, nowMs = 0): StepReport[] {
    const step = printed.step ?? this.#newestReported();
    const open = step === undefined ? undefined : this.#at(step, nowMs);
    if (step === undefined || open === undefined) return [];
    if (open.line === undefined || (!knowsLoss(open.line.printed) && knowsLoss(printed))) open.line = { rank, printed };
    return this.#settle(step, open);
  }

  /** Steps that have waited long enough. */
  overdue(nowMs: number): StepReport[] {
    const due = [...this.#open].filter(([, open]) => nowMs - open.sinceMs >= this.#patienceMs(open));
    const newest = Math.max(-1, ...due.map(([step]) => step));
    return newest === -1 ? [] : this.#close(newest);
  }

  /** All that waits for a line alone, for the end. */
  flush(): StepReport[] {
    const whole = [...this.#open].filter(([, open]) => this.#isWhole(open)).map(([step]) => step);
    return whole.length === 0 ? [] : this.#close(Math.max(...whole));
  }

  #at(step: number, nowMs: number): OpenStep | undefined {
    if (step <= this.#newestDone) return undefined;
    const open = this.#open.get(step) ?? { facts: new Map<number, StepFact>(), line: undefined, sinceMs: nowMs };
    this.#open.set(step, open);
    return open;
  }

  #newestReported(): number | undefined {
    const reported = [...this.#open].filter(([, { facts }]) => facts.size > 0).map(([step]) => step);
    return reported.length === 0 ? undefined : Math.max(...reported);
  }

  #settle(step: number, open: OpenStep): StepReport[] {
    if (this.#isWhole(open)) {
      if (!this.#awaitsLine(open)) return this.#close(step);
      // The engine has already printed the lines of earlier steps.
      const before = [...this.#open.keys()].filter((other) => other < step);
      return before.length === 0 ? [] : this.#close(Math.max(...before));
    }
    return this.#open.size > MAX_OPEN_STEPS ? this.#close(Math.min(...this.#open.keys())) : [];
  }

  /** Without hooks a line is all there is. */
  #isWhole({ facts, line }: OpenStep): boolean {
    return this.#hasFacts ? facts.size === this.#ranks : line !== undefined;
  }

  #awaitsLine({ facts, line }: OpenStep): boolean {
    if (!this.#hasLines) return false;
    return !(line !== undefined && knowsLoss(line.printed)) && ![...facts.values()].some(knowsLoss);
  }

  #patienceMs(open: OpenStep): number {
    if (this.#isWhole(open)) return LINE_MS;
    // Missing ranks are waited for by number of steps, not by time.
    return open.facts.size === 0 ? FACTS_MS : Number.POSITIVE_INFINITY;
  }

  /** Closes a step with whole ones before it, and forgets those that never became whole. */
  #close(last: number): StepReport[] {
    const steps = [...this.#open.keys()].filter((step) => step <= last).sort((one, other) => one - other);
    const reports = steps.flatMap((step) => {
      const open = this.#open.get(step);
      this.#open.delete(step);
      return open !== undefined && (step === last || this.#isWhole(open)) ? [this.#report(step, open)] : [];
    });
    this.#newestDone = last;
    return reports;
  }

  #report(step: number, open: OpenStep): StepReport {
    const report = toReport(step, open);
    return { ...report, tokens: report.tokens ?? this.#tokensPerStep };
  }
}

/** Whether the loss is known, also if it is not finite. */
function knowsLoss({
  loss,
  notFinite,
}: {
  readonly loss: number | null;
  readonly notFinite?: NotFinite | undefined;
}): boolean {
  return loss !== null || notFinite?.loss !== undefined;
}

/** Values that a source reports as not finite and no source reports as a number. */
function notFiniteOf(
  report: Pick<StepReport, 'loss' | 'gradNorm'>,
  sources: readonly (NotFinite | undefined)[],
): Pick<StepReport, 'notFinite'> {
  const values = (['loss', 'gradNorm'] as const).flatMap((field) => {
    const word = report[field] === null ? sources.find((one) => one?.[field] !== undefined)?.[field] : undefined;
    return word === undefined ? [] : [[field, word] as const];
  });
  return values.length === 0 ? {} : { notFinite: Object.fromEntries(values) };
}

function toReport(step: number, { facts, line }: OpenStep): StepReport {
  const byRank = [...facts].sort(([one], [other]) => one - other);
  const first = (field: 'loss' | 'tokens' | 'learningRate' | 'gradNorm'): number | null =>
    byRank.map(([, fact]) => fact[field]).find((value) => value !== null) ?? null;
  const ofLine = line?.printed;
  const timed = byRank.map(([rank, { stepTimeMs, timingsMs }]) => ({ rank, stepTimeMs, timingsMs }));
  const printed =
    line === undefined || line.printed.stepTimeMs === null
      ? []
      : [{ rank: line.rank, stepTimeMs: Math.max(0, line.printed.stepTimeMs), timingsMs: {} }];
  const report = {
    step,
    loss: first('loss') ?? ofLine?.loss ?? null,
    tokens: first('tokens'),
    learningRate: first('learningRate') ?? ofLine?.learningRate ?? null,
    gradNorm: first('gradNorm') ?? ofLine?.gradNorm ?? null,
    ranks: timed.length > 0 ? timed : printed,
  };
  return { ...report, ...notFiniteOf(report, [...byRank.map(([, fact]) => fact.notFinite), ofLine?.notFinite]) };
}
