import { startPostgres, type Postgres } from '@coxswain/local-cluster';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { command } from './command.ts';
import { ADDRESSES } from './node-config.ts';

const PROGRAM = join(import.meta.dirname, '../../../apps/api/dist/database-roles.js');
const PORT = 5432;

/** PostgreSQL beside the cluster, as an administrator would have it, and the Secret's lines that lead to it. */
export interface Database {
  readonly secret: string;
  stop(): Promise<void>;
}

/** Starts a server that pods reach at the usual port of the host's address. */
export async function startDatabase(): Promise<Database> {
  const postgres = await startPostgres();
  const door = await openDoor(postgres);
  const url = new URL(await postgres.createDatabase('coxswain'));
  url.host = `${ADDRESSES.host}:${PORT}`;
  const secret = await command(process.execPath, [PROGRAM], {
    env: { NODE_OPTIONS: undefined, COXSWAIN_ADMIN_DATABASE_URL: url.toString() },
  });
  return {
    secret,
    stop: async () => {
      door.close();
      await postgres.stop();
    },
  };
}

/** The server itself listens on loopback alone. */
async function openDoor({ url }: Postgres): Promise<Server> {
  const port = Number(new URL(url).port);
  const door = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    for (const end of [client, server]) end.on('error', () => [client, server].forEach((one) => one.destroy()));
    client.pipe(server).pipe(client);
  });
  door.listen(PORT, ADDRESSES.host);
  await once(door, 'listening');
  return door;
}
