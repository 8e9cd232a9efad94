import { startPostgres, SYSTEM_NAMESPACE, type Postgres } from '@coxswain/local-cluster';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { POSTGRES } from '../../images/postgres.ts';
import { command } from './command.ts';
import { claimOf } from './job-objects.ts';
import { ADDRESSES } from './node-config.ts';

const PROGRAM = join(import.meta.dirname, '../../../apps/api/dist/database-roles.js');
const PORT = 5432;
const CLAIM = 'database';

/** What is created before the installation, and the chart's values, so that the API has a database. */
export interface DatabaseChoice {
  readonly objects: readonly object[];
  values(chart: string): readonly string[];
  /** Printed with the installation step. */
  readonly what: string;
  stop(): Promise<void>;
}

/** The chart's own where both revisions have it, so that an upgrade keeps it; else a server beside the cluster. */
export function databaseFor(charts: readonly string[], folder: string): Promise<DatabaseChoice> {
  return charts.every(knowsDatabase) ? Promise.resolve(embedded(folder)) : external();
}

/** Whether a chart can bring a database; before, it was always another's. */
function knowsDatabase(chart: string): boolean {
  return /^database:$/m.test(readFileSync(`${chart}/values.yaml`, 'utf8'));
}

/** A volume on a folder of this machine in place of what a StorageClass would make. */
function embedded(folder: string): DatabaseChoice {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o777); // Such a volume knows no group.
  const here = 'database.embedded';
  return {
    objects: claimOf(CLAIM, folder, SYSTEM_NAMESPACE),
    values: () => [
      'database.source=embedded',
      `${here}.image.repository=docker.io/${POSTGRES.repository}`,
      `${here}.image.tag=${POSTGRES.tag}`,
      `${here}.runAsUser=${POSTGRES.runAsUser}`,
      `${here}.storage.existingClaim=${CLAIM}`,
    ],
    what: 'with a database of the chart',
    stop: () => Promise.resolve(),
  };
}

/** A server that pods reach at the usual port of the host's address, as an administrator would have one. */
async function external(): Promise<DatabaseChoice> {
  const postgres = await startPostgres();
  const door = await openDoor(postgres);
  const url = new URL(await postgres.createDatabase('coxswain'));
  url.host = `${ADDRESSES.host}:${PORT}`;
  const lines = await command(process.execPath, [PROGRAM], {
    env: { NODE_OPTIONS: undefined, COXSWAIN_ADMIN_DATABASE_URL: url.toString() },
  });
  const metadata = { name: 'coxswain-database', namespace: SYSTEM_NAMESPACE };
  return {
    objects: [{ apiVersion: 'v1', kind: 'Secret', metadata, stringData: linesOf(lines) }],
    values: (chart) => (knowsDatabase(chart) ? ['database.source=external'] : []),
    what: 'with a database beside the cluster',
    stop: async () => {
      door.close();
      await postgres.stop();
    },
  };
}

/** `KEY=VALUE` lines, as `kubectl create secret --from-env-file` reads them. */
function linesOf(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').flatMap((line) => {
    const [, key, value] = /^([a-z-]+)=(.*)$/.exec(line) ?? [];
    return key === undefined || value === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(lines);
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
