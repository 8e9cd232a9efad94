/** Did a rank fail because another one was gone? */

/**
 * Messages that libraries write when the other end of a connection is gone: gloo (transport/tcp/pair.cc), NCCL (`ncclRemoteError`, in the words of torch and NCCL), PyTorch's TCPStore
 * (distributed/c10d/socket.cpp), and the system, for all three.
 */
const LOST =
  /Connection (?:closed|reset) by peer|Broken pipe|remote process exit(?:ed|ing)|Connection was likely closed/i;
const ERROR = /^(?:\[[^\]]{0,32}\]:? *)?(?:\w+\.)*\w*(?:Error|Exception)(?::|$)/;
/** Lines over which one error may extend, as those of NCCL do. */
const LINES_OF_AN_ERROR = 3;

/**
 * Whether the lines report a lost peer and no other error: then the rank that wrote them failed after another rank. `lines`: last ones of a rank, or of all ranks of
 * a pod. Ranks write them, so that this may order failures, and no more.
 */
export function lostItsPeer(lines: readonly string[]): boolean {
  const others = lines.filter((line, index) => ERROR.test(line) && !LOST.test(errorAt(lines, index)));
  return others.length === 0 && lines.some((line) => LOST.test(line));
}

function errorAt(lines: readonly string[], index: number): string {
  const rest = lines.slice(index, index + LINES_OF_AN_ERROR);
  const next = rest.findIndex((line, at) => at > 0 && ERROR.test(line) && !line.startsWith('nccl'));
  return rest.slice(0, next === -1 ? rest.length : next).join('\n');
}
