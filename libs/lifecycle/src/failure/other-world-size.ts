/** Does the log of a rank show that its program waits for another number of ranks than the job has? */

/** The line of PyTorch's TCPStore: the store knows the world size of the program, and how many ranks came. */
const CLIENTS = /waiting for clients\. (\d{1,9})\/(\d{1,9}) clients joined/;
/** A key that a rank of the process group would have written. */
const KEY_OF_RANK = /wait timeout after .*keys: .*\brank_(\d{1,9})\b/i;

/**
 * What shows it, as the end of a sentence; undefined: nothing does. If every rank of the job came and more are awaited, no network keeps them away.
 * `ranks`: of the job.
 */
export function otherWorldSize(lines: readonly string[], ranks: number): string | undefined {
  for (const line of lines.toReversed()) {
    const [, joined, size] = CLIENTS.exec(line) ?? [];
    if (
      joined !== undefined &&
      size !== undefined &&
      Number(size) !== ranks &&
      Number(joined) >= Math.min(ranks, Number(size))
    )
      return `the program waits for ${size} ranks, and the job has ${ranks}`;
    const awaited = KEY_OF_RANK.exec(line)?.[1];
    if (awaited !== undefined && Number(awaited) >= ranks)
      return `the program waits for rank ${awaited}, and the job has ranks 0 to ${ranks - 1}`;
  }
  return undefined;
}
