import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Metrics } from '@coxswain/telemetry';

/**
 * Of all connections, those on which nobody was let in yet. Each may hold 21 KiB until it is cut for being slow, most of it the head of its request: of 8,192
 * connections 2,048 do, and 43 MiB.
 */
const UNAUTHENTICATED_SHARE = 1 / 4;
/** How many connections are closed at once: choosing them reads all that are open. */
const SHARE_AT_ONCE = 1 / 64;

/** Whose share a connection is of: a project's, or a principal's; undefined: no request was let in on it yet. */
type OwnerOf = (connection: Socket) => string | undefined;

interface Bounds {
  /** Connections open at a time; 0: as many as come. */
  readonly most: number;
  readonly ownerOf: OwnerOf;
  readonly metrics: Metrics;
}

/**
 * Bounds the number of connections. Anyone may connect. If there are too many unauthenticated connections, the oldest of them is closed: it had the
 * most time to authenticate. If there are too many in all, the project with the most connections loses its oldest ones, so that no project can
 * keep others out, however many tokens it has. A limit per address would not bound a client with many addresses, and would hit all clients behind one proxy.
 */
export function boundConnections(server: Server, { most, ownerOf, metrics }: Bounds): void {
  if (most === 0) return;
  const cut = metrics.counter({
    name: 'coxswain_api_connections_cut_total',
    help: 'Connections that were cut off to make room for others.',
  });
  const mostUnauthenticated = Math.max(1, Math.floor(most * UNAUTHENTICATED_SHARE));
  /** Both in the order in which connections opened. A connection that has authenticated since stays in the second set until room is made. */
  const open = new Set<Socket>();
  const unauthenticated = new Set<Socket>();
  const forget = (connection: Socket): void => {
    open.delete(connection);
    unauthenticated.delete(connection);
  };
  const cutFirst = (held: readonly Socket[], bound: number): void => {
    const count = Math.ceil(Math.min(bound * SHARE_AT_ONCE, held.length / 2));
    for (const connection of held.slice(0, count)) {
      forget(connection);
      cut.inc();
      // A reset: of what waits to be sent nothing stays in the kernel.
      connection.resetAndDestroy();
    }
  };
  const makeRoom = (): void => {
    if (unauthenticated.size <= mostUnauthenticated && open.size <= most) return;
    for (const connection of unauthenticated) if (ownerOf(connection) !== undefined) unauthenticated.delete(connection);
    if (unauthenticated.size > mostUnauthenticated) cutFirst([...unauthenticated], mostUnauthenticated);
    if (open.size > most) cutFirst(heldByWhoHasMost(open, ownerOf), most);
  };
  server.on('connection', (connection: Socket) => {
    open.add(connection);
    unauthenticated.add(connection);
    connection.once('close', () => forget(connection));
    makeRoom();
  });
}

/** Strangers are counted as one, and make room where nobody has more than they. */
function heldByWhoHasMost(open: Iterable<Socket>, ownerOf: OwnerOf): readonly Socket[] {
  const held = Map.groupBy(open, ownerOf);
  return [...held.values()].reduce(
    (most, some) => (some.length > most.length ? some : most),
    held.get(undefined) ?? [],
  );
}
