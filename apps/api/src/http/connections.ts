import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Metrics } from '@coxswain/telemetry';

/**
 * Of all connections, those on which nobody was let in yet. Each may hold 21 KiB until it is cut for being slow, most of it the head of its request: of 8,192
 * connections 2,048 do, and 43 MiB.
 */
const STRANGERS_SHARE = 1 / 4;

interface Bounds {
  /** Connections open at a time; 0: as many as come. */
  readonly most: number;
  readonly wasLetIn: (connection: Socket) => boolean;
  readonly metrics: Metrics;
}

/**
 * Bounds what connections may hold. Whoever comes may connect: where that is one too many, in all or of strangers, the stranger who came first is cut off, who
 * had the most time to say who he is. A share of each address would be no bound for whoever has many, and one for all who come through the same proxy.
 */
export function boundConnections(server: Server, { most, wasLetIn, metrics }: Bounds): void {
  if (most === 0) return;
  const cut = metrics.counter({
    name: 'coxswain_api_connections_cut_total',
    help: 'Connections on which nobody had been let in that made room for others.',
  });
  const mostStrangers = Math.max(1, Math.floor(most * STRANGERS_SHARE));
  const open = new Set<Socket>();
  /** In the order in which they came; who was let in since is found when room is made. */
  const strangers = new Set<Socket>();
  const makeRoom = (): void => {
    for (const connection of strangers) {
      if (strangers.size <= mostStrangers && open.size <= most) return;
      strangers.delete(connection);
      if (wasLetIn(connection)) continue;
      open.delete(connection);
      cut.inc();
      // A reset: of what waits to be sent nothing stays in the kernel.
      connection.resetAndDestroy();
    }
  };
  server.on('connection', (connection: Socket) => {
    open.add(connection);
    strangers.add(connection);
    connection.once('close', () => {
      open.delete(connection);
      strangers.delete(connection);
    });
    makeRoom();
  });
}
