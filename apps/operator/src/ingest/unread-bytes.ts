import type { OperatorMessage } from '@coxswain/api-types';
import type { WebSocket } from 'ws';

/** Unsent bytes for one launcher above which its connection is cut; assignments and acknowledgements are a few KiB. */
const MAX_UNREAD_BYTES = 262_144;

/** Sends a message. A launcher that does not read is disconnected and reconnects when it reads again. */
export function sendTo(
  webSocket: Pick<WebSocket, 'bufferedAmount' | 'readyState' | 'OPEN' | 'send' | 'terminate'>,
  message: OperatorMessage,
): void {
  if (webSocket.readyState !== webSocket.OPEN || cutOffUnlessRead(webSocket)) return;
  webSocket.send(JSON.stringify(message));
}

/** Cuts a connection with too many unsent bytes, including answers to pings. Returns whether it did. */
export function cutOffUnlessRead(webSocket: Pick<WebSocket, 'bufferedAmount' | 'terminate'>): boolean {
  if (webSocket.bufferedAmount <= MAX_UNREAD_BYTES) return false;
  webSocket.terminate();
  return true;
}
