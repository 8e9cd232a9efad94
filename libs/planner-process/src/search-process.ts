import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { exitError } from './exit-error.ts';
import type { PlannerQuestion, PlannerReady, PlannerReply } from './planner-question.ts';

/**
 * Memory of a process besides its heap limit, in MiB: Node, the planner's code, and typed arrays, which V8 keeps outside its heap. An idle process uses 120 to
 * 140 MiB: 20 MiB of heap, and 50 MiB of program pages that all processes share.
 */
export const NON_HEAP_MIB = 128;
/** Size of V8's young generation in MiB. The default grew by 100 MiB and made searches no faster. */
const NEW_OBJECTS_MIB = 8;
const MAX_LAST_OUTPUT = 8_192;

/** Options of {@link SearchProcess}. */
export interface SearchProcessParts {
  /** The program of the process; see `answer-questions.ts`. */
  readonly program: URL;
  /** Infinity: no limit. */
  readonly heapMib: number;
  readonly onReady: () => void;
  readonly onReply: (reply: PlannerReply) => void;
  /** Called if the process ends by itself. */
  readonly onExit: (reason: Error) => void;
}

/**
 * One search process. It is not a thread, because V8 ends the whole process if the heap of a thread grows too fast. Its environment has only the directory of
 * compiled code, because the environment of the parent contains database passwords.
 */
export class SearchProcess {
  readonly #child: ChildProcess;
  readonly #ended = Promise.withResolvers<void>();
  #isEnding = false;
  #lastOutput = '';

  constructor({ program, heapMib, onReady, onReply, onExit }: SearchProcessParts) {
    this.#child = fork(fileURLToPath(program), [String(process.pid), String(heapMib + NON_HEAP_MIB)], {
      env: searchEnvironment(),
      execArgv: execArgvOf(heapMib),
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // Signals of a terminal or service manager to the process group are for the parent only.
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
      // Only the search process writes to this channel.
      const reply = message as PlannerReply | PlannerReady;
      if (reply.kind === 'ready') onReady();
      else onReply(reply);
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#lastOutput = (this.#lastOutput + text).slice(-MAX_LAST_OUTPUT);
    });
    // Not `exit`: standard error may not be read completely by then.
    this.#child.on('close', (exitCode, signal) =>
      dies(exitError({ exitCode, signal, stderr: this.#lastOutput }, heapMib)),
    );
    // The only event of a process that could not be started.
    this.#child.on('error', (error) => {
      if (this.#child.pid === undefined) dies(new Error('the planner process could not be started', { cause: error }));
    });
  }

  /** Sends a question. Throws if it cannot be serialized. If the process has ended, `onExit` reports it. */
  ask(question: PlannerQuestion): void {
    this.#child.send(question, () => undefined);
  }

  /** Kills the process. Resolves once it has ended. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#child.kill('SIGKILL');
    await this.#ended.promise;
  }
}

/** Without the directory of compiled code, each search process takes a second longer to start. A command line of Coxswain sets it. */
function searchEnvironment(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
}

function execArgvOf(heapMib: number): string[] {
  const always = ['--disable-warning=ExperimentalWarning', '--expose-gc'];
  if (heapMib === Infinity) return always;
  return [...always, `--max-old-space-size=${heapMib}`, `--max-semi-space-size=${NEW_OBJECTS_MIB}`];
}
