import type { OperatorMessage } from '@coxswain/api-types';
import type { WebSocket } from 'ws';

/** What lies here for one launcher; assignments and acknowledgements of a gang's pod are a few KiB. */
const MAX_UNREAD_BYTES = 262_144;

/** Sends; who does not read what was sent before is cut off, and comes again when it reads. */
export function sendTo(
  webSocket: Pick<WebSocket, 'bufferedAmount' | 'readyState' | 'OPEN' | 'send' | 'terminate'>,
  message: OperatorMessage,
): void {
  if (webSocket.readyState !== webSocket.OPEN || cutOffUnlessRead(webSocket)) return;
  webSocket.send(JSON.stringify(message));
}

/** Whether it was cut off, because too much lies here unread: also answers to pings lie here. */
export function cutOffUnlessRead(webSocket: Pick<WebSocket, 'bufferedAmount' | 'terminate'>): boolean {
  if (webSocket.bufferedAmount <= MAX_UNREAD_BYTES) return false;
  webSocket.terminate();
  return true;
}
