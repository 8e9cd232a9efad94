/** What does a launcher add to the lines of a shell that ended before programs that it started? */

const LAUNCHER = '[launcher] ';
const BEGINS = `${LAUNCHER}The command of `;
const FAILED_TO_WAIT = ' ended while it had not waited for ';

/** The line behind those that the rank wrote. Ranks can write one too: it explains an end, and decides nothing. */
export function leftBehindMark(ranks: string, programs: string): string {
  return `${BEGINS}${ranks}${FAILED_TO_WAIT}${programs}, which ended with it. Start the program with exec or without &, or end the command with wait.`;
}

/** The sentence of a {@link leftBehindMark}; undefined: the line is none. */
export function leftBehindIn(line: string): string | undefined {
  return line.startsWith(BEGINS) && line.includes(FAILED_TO_WAIT) ? line.slice(LAUNCHER.length) : undefined;
}
