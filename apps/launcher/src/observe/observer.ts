/** Observes the ranks of a program that another controller started, and reports them. It starts, stops and prints nothing. */
import { type ObserverReply, type ObserverReport, type PodStacks, type StepReport } from '@coxswain/api-types';
import { FactServer } from '../facts/fact-server.ts';
import type { EngineFact, StepFact } from '../facts/engine-facts.ts';
import { realProcesses, type ProcessFacts } from '../processes/process-facts.ts';
import { RankProgress } from '../reports/rank-progress.ts';
import { StackRequests } from '../requests/stack-requests.ts';
import { ObservedRanks } from './observed-ranks.ts';

/** Of one report; older ones are dropped. */
const MOST_STEPS = 64;

export interface ObserverOptions {
  /** Of the program. */
  readonly pid: number;
  readonly socketPath: string;
  readonly bootId: string;
  /** Undefined: no answer came. Must not reject. */
  readonly send: (report: ObserverReport) => Promise<ObserverReply | undefined>;
}

/** Holds the socket for hooks, and makes one report after the other. */
export class Observer {
  readonly #options: ObserverOptions;
  readonly #ranks = new ObservedRanks();
  readonly #stacks: StackRequests;
  #progress = new RankProgress();
  #steps = new Map<number, StepReport>();
  #answer: PodStacks | undefined;
  #facts: FactServer | undefined;
  #isHasty = false;

  private constructor(options: ObserverOptions) {
    this.#options = options;
    this.#stacks = new StackRequests({
      alive: () => this.#ranks.alive,
      ask: (rank, request) => this.#facts?.askForStacks(rank, request),
    });
  }

  static async start(options: ObserverOptions): Promise<Observer> {
    const observer = new Observer(options);
    await observer.#listen();
    return observer;
  }

  /** A rank waits for others or is stopped, or stack traces are wanted: the operator should hear soon. */
  get isHasty(): boolean {
    return this.#isHasty;
  }

  /** Sends what is known now, and collects what the answer asks for. */
  async report(): Promise<void> {
    const steps = this.#steps;
    const answer = this.#answer;
    this.#steps = new Map();
    this.#answer = undefined;
    const report = this.#reportNow([...steps.values()], answer);
    this.#isHasty = report.processes.some(({ state }) => state === 'stopped') || report.watermarks.some(isWaiting);
    const reply = await this.#options.send(report);
    if (reply === undefined) return this.#keep(steps, answer);
    if (reply.stacksWanted === undefined) return;
    this.#answer = await this.#stacks.answer(reply.stacksWanted);
    this.#isHasty = true;
  }

  async stop(): Promise<void> {
    await this.#facts?.drain(0);
  }

  async #listen(): Promise<void> {
    const { pid, socketPath, bootId } = this.#options;
    this.#facts = await FactServer.listen({
      path: socketPath,
      bootId,
      ranks: 'any',
      started: () => [pid],
      processes: below(pid),
      onFact: (rank, fact) => this.#receive(rank, fact),
      onHello: (hello) => {
        if (this.#ranks.add(hello, performance.now())) this.#progress = new RankProgress();
      },
    });
  }

  #receive(rank: number, fact: EngineFact): void {
    const nowMs = performance.now();
    if (fact.kind === 'heartbeat') this.#progress.receive(rank, fact, nowMs);
    else if (fact.kind === 'stacks') this.#stacks.receive(rank, fact);
    else if (fact.kind === 'step') {
      this.#progress.recordStep(rank, fact.step, nowMs);
      this.#addStep(rank, fact);
    }
  }

  #addStep(rank: number, fact: StepFact): void {
    const { step, loss, tokens, learningRate, gradNorm, stepTimeMs, timingsMs } = fact;
    const known = this.#steps.get(step);
    const ranks = [...(known?.ranks ?? []).filter((one) => one.rank !== rank), { rank, stepTimeMs, timingsMs }];
    this.#steps.set(step, {
      step,
      loss: known?.loss ?? loss,
      tokens: known?.tokens ?? tokens,
      learningRate: known?.learningRate ?? learningRate,
      gradNorm: known?.gradNorm ?? gradNorm,
      ranks,
    });
    for (const oldest of this.#steps.keys()) {
      if (this.#steps.size <= MOST_STEPS) return;
      this.#steps.delete(oldest);
    }
  }

  /** Of a report that was not received, for the next one. Newer steps replace older ones. */
  #keep(steps: ReadonlyMap<number, StepReport>, answer: PodStacks | undefined): void {
    this.#answer ??= answer;
    this.#steps = new Map([...steps, ...this.#steps].slice(-MOST_STEPS));
  }

  #reportNow(steps: readonly StepReport[], stacks: PodStacks | undefined): ObserverReport {
    const nowMs = performance.now();
    const { alive, ranks } = this.#ranks;
    const progress = this.#progress.heartbeat(alive, { nowMs, readsWatermarks: true });
    const stepOf = new Map(progress.ranks.map(({ rank, step }) => [rank, step]));
    return {
      version: 1,
      bootId: this.#options.bootId,
      ranks: ranks.map((one) => ({ ...one, step: stepOf.get(one.rank) ?? null })),
      processes: [...this.#ranks.processes(nowMs)],
      watermarks: progress.watermarks ?? [],
      processGroups: progress.processGroups ?? [],
      steps: [...steps],
      ...(stacks === undefined ? {} : { stacks }),
    };
  }
}

function isWaiting({ groups }: ObserverReport['watermarks'][number]): boolean {
  return groups.some(({ completed, enqueued }) => completed < enqueued);
}

/** The program may be the first process of its container: every process there descends from it. */
function below(program: number): ProcessFacts {
  return program === 1 ? { ...realProcesses, isBelow: () => true } : realProcesses;
}
