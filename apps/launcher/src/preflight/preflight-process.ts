import { spawn, type ChildProcess } from 'node:child_process';
import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import {
  PairMeasurement,
  partsOfSourced,
  PreflightFacts,
  type PreflightLevel,
  type PreflightReport,
} from '@coxswain/api-types';
import { confirmingPeersOf, firstPeersOf, measuredPairs } from '@coxswain/preflight';
import { cutText } from '@coxswain/safe-text';
import { z } from 'zod';
import { LineSplitter } from '../logs/line-splitter.ts';
import { signalGroup } from '../processes/processes.ts';
import { LAUNCHER_ENV } from '../program/settings.ts';
import type { PreflightBoard } from '../reports/preflight-board.ts';
import generated from './program.generated.json' with { type: 'json' };

const ANSWER_FD = 3;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const MAX_NOTE = 512;
/**
 * Time for every pod to join. The ranks wait for a pod that joins later, or whose release has no preflight, as they do without a preflight. Shorter
 * than the shortest time-out of PyTorch, in which ranks of such a pod would end: 300 s.
 */
const GATHER_MS = 240_000;
/** Beyond the limit that the program keeps itself. */
const SLACK_MS = 5_000;

/** What the preflight program measures in this pod, and how it finds the board that all pods of the gang share. */
export interface PreflightOptions {
  readonly level: Exclude<PreflightLevel, 'Off'>;
  /** Once every pod is there. */
  readonly timeoutMs: number;
  readonly podIndex: number;
  readonly podCount: number;
  /** The board is in this pod. */
  readonly isHost: boolean;
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly bootId: string;
  readonly onBoard: (place: { readonly port: number; readonly key: string }) => void;
  readonly board: Promise<PreflightBoard>;
}

const Answer = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('board'), port: z.int().min(1).max(65_535), key: z.string().min(1).max(64) }),
  z.object({ kind: z.literal('facts'), facts: PreflightFacts }),
  z.object({ kind: z.literal('gathered') }),
  z.object({ kind: z.literal('pair'), pair: PairMeasurement }),
  z.object({ kind: z.literal('table'), pairs: z.array(PairMeasurement.extend({ pod: z.int().min(0) })) }),
  z.object({ kind: z.literal('failed'), note: z.string().max(256) }),
  z.object({ kind: z.literal('done') }),
]);
type Answer = z.infer<typeof Answer>;

/**
 * The preflight program under the Python of the image, in a session of its own. Whatever becomes of it, there is a report of what is known until then:
 * an image without Python, or a program that hangs, keeps no rank from starting.
 */
export class PreflightProcess {
  readonly #options: PreflightOptions;
  readonly #child: ChildProcess;
  readonly #begunMs = performance.now();
  readonly #report = Promise.withResolvers<PreflightReport>();
  #facts: PreflightFacts = {};
  #pairs: readonly PairMeasurement[] = [];
  #lastErrorOutput = '';
  #timer: NodeJS.Timeout;

  constructor(options: PreflightOptions) {
    this.#options = options;
    const [first, ...rest] = pythonLike(options.command);
    this.#child = spawn(first, [...rest, '-c', generated.program], {
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
      env: { ...options.environment, [LAUNCHER_ENV.bootId]: options.bootId },
    });
    this.#child.stdin?.on('error', () => undefined);
    this.#child.once('error', (error) => this.#end('Skipped', `${first} cannot be started: ${error.message}`));
    this.#child.once('close', (code, signal) => {
      this.#end('Partial', `the preflight program ended early (${signal ?? `exit ${code}`}): ${this.#lastErrorOutput}`);
    });
    this.#readErrorOutput(this.#child.stderr);
    this.#readAnswers(this.#child.stdio[ANSWER_FD] as Readable);
    this.#timer = this.#endAfter(GATHER_MS, 'the pods of the gang did not all come');
    this.#sendFirstOrder();
  }

  /** Settles once. The process lives on, for the board of the others may be in it, until {@link end}. */
  get report(): Promise<PreflightReport> {
    return this.#report.promise;
  }

  /** Nobody needs it any more; where there is no report yet, there is one of what is known. */
  end(why = 'it was ended'): void {
    this.#end('Partial', why);
    if (this.#child.pid !== undefined) signalGroup(this.#child.pid, 'SIGKILL');
  }

  #sendFirstOrder(): void {
    const { level, timeoutMs, podIndex, podCount, isHost, board } = this.#options;
    const peers = firstPeersOf(podIndex, podCount);
    this.#send({ level, pod: podIndex, pods: podCount, isHost, timeoutS: timeoutMs / 1000, peers });
    void board.then((place) => this.#send({ ...place }));
  }

  #send(order: object): void {
    const stdin: Writable | null = this.#child.stdin;
    if (stdin?.writable === true) stdin.write(`${JSON.stringify(order)}\n`);
  }

  #readErrorOutput(stream: Readable | null): void {
    stream?.on('error', () => undefined);
    stream?.on('data', (chunk: Buffer) => {
      this.#lastErrorOutput = (this.#lastErrorOutput + chunk.toString('utf8')).slice(-MAX_NOTE / 2);
    });
  }

  #readAnswers(stream: Readable): void {
    const splitter = new LineSplitter(MAX_ANSWER_BYTES);
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => {
      for (const { bytes } of splitter.push(chunk)) this.#receive(parse(bytes.toString('utf8')));
    });
  }

  #receive(answer: Answer | undefined): void {
    const { podCount, podIndex, timeoutMs, onBoard } = this.#options;
    switch (answer?.kind) {
      case 'board':
        return onBoard(answer);
      case 'facts':
        this.#facts = { ...this.#facts, ...answer.facts };
        return;
      case 'gathered':
        clearTimeout(this.#timer);
        this.#timer = this.#endAfter(timeoutMs + SLACK_MS, `it took longer than ${timeoutMs / 1000} s`);
        return;
      case 'pair':
        this.#pairs = [...this.#pairs, answer.pair].slice(0, 16);
        return;
      case 'table':
        return this.#send({ peers: confirmingPeersOf(podIndex, { podCount, measured: measuredIn(answer) }) });
      case 'failed':
        return this.#end(
          'Partial',
          `${answer.note}${this.#lastErrorOutput === '' ? '' : `: ${this.#lastErrorOutput}`}`,
        );
      case 'done':
        return this.#end('Done', undefined);
      case undefined:
        return;
    }
  }

  #endAfter(ms: number, why: string): NodeJS.Timeout {
    return setTimeout(() => this.#end('Partial', why), ms).unref();
  }

  #end(outcome: PreflightReport['outcome'], note: string | undefined): void {
    clearTimeout(this.#timer);
    this.#report.resolve({
      outcome,
      ...(note === undefined ? {} : { note: cutText(note.replaceAll(/\s+/g, ' '), MAX_NOTE) }),
      facts: this.#facts,
      pairs: [...this.#pairs],
      tookMs: Math.round(performance.now() - this.#begunMs),
    });
  }
}

/**
 * The engine's own Python where it is one (of a virtual environment, say), else the image's; behind the script that its runtime sources, whose variables
 * choose the network that is measured.
 */
export function pythonLike(command: readonly string[]): readonly [string, ...string[]] {
  const { before, program } = partsOfSourced(command);
  const [own = ''] = program;
  const python = /^python[0-9.]*$/.test(basename(own)) ? own : 'python3';
  const [first, ...rest] = before;
  return first === undefined ? [python] : [first, ...rest, python];
}

function measuredIn({ pairs }: Extract<Answer, { kind: 'table' }>): ReturnType<typeof measuredPairs> {
  const byPod = [...Map.groupBy(pairs, ({ pod }) => pod)];
  const pods = byPod.map(([podIndex, own]) => {
    const report = { outcome: 'Done' as const, facts: {}, pairs: own.map(({ pod: _, ...pair }) => pair), tookMs: 0 };
    return { podIndex, report };
  });
  return measuredPairs(pods);
}

function parse(line: string): Answer | undefined {
  try {
    const parsed = Answer.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
