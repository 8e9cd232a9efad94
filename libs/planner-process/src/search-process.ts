import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { exitError } from './exit-error.ts';
import type { PlannerQuestion, PlannerReady, PlannerReply } from './planner-question.ts';

/**
 * What a process holds beside the heap that is granted to it: Node, the planner's code, and the arrays of numbers that V8 keeps outside of its
 * heap. At rest it holds 120 to 140 MiB, of which heap 20; 50 are pages of the program that all processes share.
 */
export const NON_HEAP_MIB = 128;
/** Of the generation of new objects. As V8 would have it, that alone grew by 100 MiB, and searches were no faster for it. */
const NEW_OBJECTS_MIB = 8;
const MOST_LAST_WORDS = 8_192;

export interface SearchProcessParts {
  /** What the process runs; see `answer-questions.ts`. */
  readonly program: URL;
  /** Infinity: no bound of memory. */
  readonly heapMib: number;
  readonly onReady: () => void;
  readonly onReply: (reply: PlannerReply) => void;
  /** It ended without having been told to. */
  readonly onExit: (reason: Error) => void;
}

/**
 * One process that searches. A thread would share its parent's fate: V8 ends the whole process, not the thread, where a thread's heap outgrows its
 * bound faster than it looks. It is given no environment: a search needs none, and the parent's names databases with their passwords.
 */
export class SearchProcess {
  readonly #child: ChildProcess;
  readonly #ended = Promise.withResolvers<void>();
  #isEnding = false;
  #lastWords = '';

  constructor({ program, heapMib, onReady, onReply, onExit }: SearchProcessParts) {
    this.#child = fork(fileURLToPath(program), [String(process.pid), String(heapMib + NON_HEAP_MIB)], {
      env: {},
      execArgv: execArgvOf(heapMib),
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // What a terminal or a service manager sends to the parent's group is for the parent to act upon.
      detached: true,
    });
    const dies = (reason: Error): void => {
      this.#ended.resolve();
      if (this.#isEnding) return;
      this.#isEnding = true;
      onExit(reason);
    };
    this.#child.on('message', (message) => {
      if (this.#isEnding) return;
      // Nobody else holds the other end of the channel.
      const reply = message as PlannerReply | PlannerReady;
      if (reply.kind === 'ready') onReady();
      else onReply(reply);
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-MOST_LAST_WORDS);
    });
    // Not `exit`: by then what it said last may not have been read.
    this.#child.on('close', (exitCode, signal) =>
      dies(exitError({ exitCode, signal, stderr: this.#lastWords }, heapMib)),
    );
    // Of a process that could not be started nothing else is told.
    this.#child.on('error', (error) => {
      if (this.#child.pid === undefined)
        dies(new Error('the process of the planner could not be started', { cause: error }));
    });
  }

  /** Throws where the question is nothing that can be sent. One that finds nobody any more is answered by the process's death. */
  ask(question: PlannerQuestion): void {
    this.#child.send(question, () => undefined);
  }

  /** Ends it, whatever it does. Resolves when it is gone with all its memory. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#child.kill('SIGKILL');
    await this.#ended.promise;
  }
}

function execArgvOf(heapMib: number): string[] {
  const always = ['--disable-warning=ExperimentalWarning', '--expose-gc'];
  if (heapMib === Infinity) return always;
  return [...always, `--max-old-space-size=${heapMib}`, `--max-semi-space-size=${NEW_OBJECTS_MIB}`];
}
