/** Which line does a launcher put behind lines that a rank survived? */

const MARK = /^\[launcher\] The rank trained on to step \d{1,16} after the lines above\.$/;

/** The line behind lines that a rank wrote before it trained on. It goes with the last lines of a rank, so it shows people and the classifier the same. */
export function progressMark(step: number): string {
  return `[launcher] The rank trained on to step ${step} after the lines above.`;
}

/** Whether a line is a {@link progressMark}. Ranks can write one too: it voids what they wrote before, and no more. */
export function isProgressMark(line: string): boolean {
  return MARK.test(line);
}
