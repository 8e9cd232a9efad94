/** Did a rank fail because another one was gone? */

/**
 * Messages that libraries write when the other end of a connection is gone: gloo (transport/tcp/pair.cc), NCCL (`ncclRemoteError`, in the words of torch and NCCL), PyTorch's TCPStore
 * (distributed/c10d/socket.cpp) and ProcessGroupNCCL, and the system, for all of them.
 */
export const LOST_PEER_PHRASES = [
  'Connection closed by peer',
  'Connection closed by remote peer',
  'Connection reset by peer',
  'Connection reset by remote peer',
  'Broken pipe',
  'remote process exited',
  'remote process exiting',
  'Connection was likely closed',
  'NCCL communicator was aborted',
] as const;
const LOST = new RegExp(LOST_PEER_PHRASES.join('|'), 'i');
/** A watchdog of torch ends a rank whose collective does not end: its peer hung or was gone before. */
const WATCHDOG = /Watchdog caught collective operation timeout|watchdog got stuck|Heartbeat monitor timed out/i;
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

/**
 * Whether the failure that wrote these lines most likely followed from another rank's: a lost peer, or the watchdog of a collective, and no other error.
 */
export function isConsequence(lines: readonly string[]): boolean {
  if (lostItsPeer(lines)) return true;
  return lines.some((line) => WATCHDOG.test(line)) && lines.every((line) => !ERROR.test(line) || isOfPeer(line));
}

function isOfPeer(line: string): boolean {
  return WATCHDOG.test(line) || LOST.test(line) || /DistBackendError|nccl\w*Error/.test(line);
}

function errorAt(lines: readonly string[], index: number): string {
  const rest = lines.slice(index, index + LINES_OF_AN_ERROR);
  const next = rest.findIndex((line, at) => at > 0 && ERROR.test(line) && !line.startsWith('nccl'));
  return rest.slice(0, next === -1 ? rest.length : next).join('\n');
}
