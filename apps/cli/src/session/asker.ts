import { createInterface } from 'node:readline/promises';

/** A question to the person at the terminal. */
export interface Question {
  readonly text: string;
  /** Taken where the answer is empty. */
  readonly fallback?: string | undefined;
  /** What the tabulator key completes. */
  readonly choices?: readonly string[] | undefined;
}

/** Asks one question after the other. An answer is undefined after Ctrl-C or Ctrl-D. */
export interface Asker {
  readonly ask: (question: Question) => Promise<string | undefined>;
  readonly close: () => void;
}

/** Asks at a terminal. Questions go to `output`, which is not where results go: those may be piped. */
export function terminalAsker(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Asker {
  let choices: readonly string[] = [];
  let isOver = false;
  const terminal = createInterface({
    input,
    output,
    completer: (line: string): [string[], string] => {
      const fitting = choices.filter((choice) => choice.startsWith(line));
      return [fitting, line];
    },
  });
  const ended = new Promise<undefined>((resolve) => {
    terminal.once('close', () => {
      isOver = true;
      resolve(undefined);
    });
    terminal.once('SIGINT', () => terminal.close());
  });
  return {
    ask: async (question) => {
      if (isOver) return undefined;
      choices = question.choices ?? [];
      const shown = question.fallback === undefined ? '' : ` [${question.fallback}]`;
      const answer = await Promise.race([terminal.question(`${question.text}${shown}: `), ended]);
      return answer?.trim() === '' ? (question.fallback ?? '') : answer?.trim();
    },
    close: () => terminal.close(),
  };
}
