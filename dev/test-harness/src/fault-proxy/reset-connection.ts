import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Ends a response's connection with a TCP reset, as a crashed peer or a middlebox does. */
export function resetConnection(outgoing: ServerResponse): void {
  const socket = outgoing.socket;
  if (socket === null) return;
  // Only the raw socket under the TLS one can send RST.
  const raw = (socket as unknown as { readonly _parent?: Socket | null })._parent;
  if (raw !== undefined && raw !== null) raw.resetAndDestroy();
  socket.destroy();
}
