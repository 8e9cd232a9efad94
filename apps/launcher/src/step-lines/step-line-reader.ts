/** Finds lines of steps in what an engine prints, in bounded time however much that is. */
import type { EngineRun } from '@coxswain/api-types';
import { TokenBucket } from '@coxswain/units';
import type { StepLine } from './printed-step.ts';
import { STEP_FORMS, type StepForm } from './step-line.ts';

/** Lines that are parsed per second and at once: engines print one per step, and the rate of reported steps is limited anyway. */
const LINES_PER_SECOND = 100;
const BURST_LINES = 400;
const LONGEST_BYTES = 4096;
const COLOURS = /\u001b\[[0-9;]*m/g;

/** Which engine printed the lines, and with which step its output begins. */
export interface StepLineOptions {
  readonly form: NonNullable<EngineRun['stepLines']>;
  /** Of the engine, for how often it prints where it prints no step. */
  readonly command: readonly string[];
  /** Step that it begins after. */
  readonly resumedAt: number;
  readonly monotonicMs?: () => number;
}

/** Parses at most 100 lines per second, after a burst of 400. Lines above that rate are skipped. */
export class StepLineReader {
  readonly #form: StepForm;
  readonly #pace: TokenBucket;
  readonly #monotonicMs: () => number;
  readonly #numbers: Iterator<number, null> | undefined;
  /** No line is parsed before this time, to keep the rate. */
  #blindUntilMs = -Infinity;

  constructor({ form, command, resumedAt, monotonicMs = () => performance.now() }: StepLineOptions) {
    this.#form = STEP_FORMS[form];
    this.#monotonicMs = monotonicMs;
    this.#pace = new TokenBucket({ perSecond: LINES_PER_SECOND, burst: BURST_LINES }, monotonicMs());
    this.#numbers = form === 'hugging-face' ? numbersOf(command, resumedAt) : undefined;
  }

  /** Undefined for every other line. */
  push(line: Buffer): StepLine | undefined {
    if (line.length > LONGEST_BYTES) return undefined;
    const nowMs = this.#monotonicMs();
    if (nowMs < this.#blindUntilMs || !line.includes(this.#form.needle)) return undefined;
    const waitMs = this.#pace.take(nowMs);
    this.#blindUntilMs = nowMs + waitMs;
    if (waitMs > 0) return undefined;
    const parsed = this.#form.parse(line.toString('latin1').replaceAll(COLOURS, ''));
    return parsed?.step === null ? { ...parsed, step: this.#numbers?.next().value ?? null } : parsed;
  }
}

/**
 * The steps that transformers logs: multiples of `logging_steps`, and the first where `logging_first_step` asks for it (`DefaultFlowCallback.on_step_end` in
 * trainer_callback.py). None where the command says no whole number of steps: a script may set it otherwise.
 */
function numbersOf(command: readonly string[], resumedAt: number): Iterator<number, null> | undefined {
  const every = Number(valueOf(command, 'logging_steps'));
  if (!Number.isSafeInteger(every) || every < 1) return undefined;
  const isFirst = /^(true|1|)$/i.test(valueOf(command, 'logging_first_step') ?? 'false');
  return stepsFrom(resumedAt, every, isFirst && resumedAt === 0 && every > 1);
}

function* stepsFrom(begun: number, every: number, isFirst: boolean): Generator<number, null> {
  if (isFirst) yield 1;
  for (let step = (Math.floor(begun / every) + 1) * every; Number.isSafeInteger(step); step += every) yield step;
  return null;
}

/** Of `--name value` or `--name=value`; empty for a flag alone. */
function valueOf(command: readonly string[], name: string): string | undefined {
  const at = command.findIndex((arg) => arg.replaceAll('-', '_').replace(/=.*$/, '') === `__${name}`);
  if (at === -1) return undefined;
  const [, inlineValue] = command[at]?.split('=') ?? [];
  const next = command[at + 1] ?? '';
  return inlineValue ?? (next.startsWith('--') ? '' : next);
}
