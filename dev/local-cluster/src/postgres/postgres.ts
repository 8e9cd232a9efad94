import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, escapeIdentifier } from 'pg';
import { Component } from '../process/component.ts';
import { createRunDirectory, persistentDirectory, type RunDirectory } from '../process/directories.ts';
import { freePort, requireFreePort } from '../process/ports.ts';
import { describeExit, lastLines, startProcess, type ProcessSpec } from '../process/processes.ts';
import { removeDataFolder, serverFiles, type ServerFiles } from './server-files.ts';
import { serverUser } from './server-user.ts';

/** What a database server may differ in. */
export interface PostgresOptions {
  /** Kept across stops and starts with its port and password; a temporary one unless given. */
  readonly directory?: string;
  /** Whether data survive a crash of the machine, which costs a disk write per transaction; by default only where a directory was given. */
  readonly isDurable?: boolean;
  readonly maxConnections?: number;
}

/** What a new database holds. */
export interface NewDatabase {
  /** The name of the database that it is a copy of. */
  readonly template?: string;
}

/** A running PostgreSQL on loopback, of this process alone. */
export interface Postgres {
  /** Of the database `postgres`, as superuser; holds a random password. */
  readonly url: string;
  readonly logPath: string;
  /** Makes a database with a name of its own and returns its URL: empty, or a copy of the database `template`, which must have no connection. */
  createDatabase(prefix: string, options?: NewDatabase): Promise<string>;
  /** Ends it, its clients' connections included, and removes data and directory unless the directory was given. */
  stop(options?: { readonly keepLogs?: boolean }): Promise<void>;
  /** Deletes its data for good. Call it after `stop`, when the given directory is deleted too. */
  removeData(): void;
  /** SIGKILL to the server, as after a crash; `start` brings it back with its data. */
  kill(): Promise<void>;
  /** Takes the server away in good order and keeps its data; `start` brings it back. */
  pause(): Promise<void>;
  start(): Promise<void>;
  restart(): Promise<void>;
}

/** What is kept of a server in its directory, so that it comes back as it was. */
interface Access {
  readonly port: number;
  readonly password: string;
  /** Only where the data lies elsewhere than in the directory: see `serverFiles`. */
  readonly dataFolder?: string;
}

const SUPERUSER = 'coxswain';
const READY_MS = 120_000;

/** Starts PostgreSQL and waits until it takes connections. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const directory =
    options.directory === undefined ? createRunDirectory('postgres') : persistentDirectory(options.directory);
  try {
    const server = await LocalPostgres.prepare(directory, options);
    await server.start();
    return server;
  } catch (error) {
    throw new Error(`PostgreSQL did not start; its log is in ${directory.logs}`, { cause: error });
  }
}

interface NewServer {
  readonly files: ServerFiles;
  readonly directory: RunDirectory;
  readonly access: Access;
}

interface LocalPostgresParts extends NewServer {
  readonly options: PostgresOptions;
}

class LocalPostgres implements Postgres {
  readonly url: string;
  readonly logPath: string;
  readonly #component: Component;
  readonly #parts: LocalPostgresParts;

  constructor(parts: LocalPostgresParts) {
    this.#parts = parts;
    this.logPath = join(parts.directory.logs, 'postgres.log');
    this.url = `postgresql://${SUPERUSER}:${parts.access.password}@127.0.0.1:${parts.access.port}/postgres`;
    this.#component = new Component('postgres', () => ({
      name: 'postgres',
      command: parts.files.programs.postgres,
      args: serverArgs(parts),
      ...processDefaults(this.logPath),
      stopSignal: 'SIGINT', // "Fast": ends the connections instead of waiting for the clients to.
      ready: { check: () => canConnect(this.url), deadlineMs: READY_MS },
    }));
  }

  static async prepare(directory: RunDirectory, options: PostgresOptions): Promise<LocalPostgres> {
    const files = serverFiles();
    const accessPath = join(directory.data, 'access.json');
    if (!existsSync(accessPath)) {
      const elsewhere = files.newDataFolder?.(directory.data);
      const access: Access = {
        port: await freePort(),
        password: randomBytes(24).toString('hex'),
        ...(elsewhere === undefined ? {} : { dataFolder: elsewhere }),
      };
      await initialise({ access, directory, files });
      writeFileSync(accessPath, JSON.stringify(access), { mode: 0o600 }); // Last: its presence means "initialised".
    }
    const access = JSON.parse(readFileSync(accessPath, 'utf8')) as Access;
    await requireFreePort(access.port, {
      use: 'PostgreSQL',
      advice: `Start it later, or remove ${directory.path} to begin with new data.`,
    });
    const data = dataFolder(directory, access);
    if (!existsSync(data)) {
      throw new Error(`the data of this server is no longer in ${data}; remove ${directory.path} to begin with none`);
    }
    return new LocalPostgres({ files, directory, access, options });
  }

  createDatabase(prefix: string, options: NewDatabase = {}): Promise<string> {
    return createDatabaseAt(this.url, prefix, options);
  }

  async stop(options: { readonly keepLogs?: boolean } = {}): Promise<void> {
    await this.#component.stop();
    if (this.#parts.options.directory === undefined) this.removeData();
    this.#parts.directory.remove(options);
  }

  removeData(): void {
    removeDataFolder(dataFolder(this.#parts.directory, this.#parts.access));
  }

  kill(): Promise<void> {
    return this.#component.kill();
  }

  async pause(): Promise<void> {
    await this.#component.stop();
  }

  start(): Promise<void> {
    return this.#component.start();
  }

  restart(): Promise<void> {
    return this.#component.restart();
  }
}

/** Makes a database with a name of its own on the server that a superuser's URL names, and returns its URL. */
export async function createDatabaseAt(
  serverUrl: string,
  prefix: string,
  { template }: NewDatabase = {},
): Promise<string> {
  const name = `${prefix.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_')}_${randomBytes(6).toString('hex')}`;
  const source = template === undefined ? '' : ` TEMPLATE ${escapeIdentifier(template)}`;
  await withClient(serverUrl, (client) => client.query(`CREATE DATABASE ${escapeIdentifier(name)}${source}`));
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

function serverArgs({ directory, access, options }: LocalPostgresParts): string[] {
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(access.port),
    unix_socket_directories: '', // Nobody else on the machine can even knock.
    max_connections: String(options.maxConnections ?? 200),
    // A throw-away database need not survive the machine, only its own server.
    ...(!(options.isDurable ?? options.directory !== undefined) ? { fsync: 'off', full_page_writes: 'off' } : {}),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return ['-D', dataFolder(directory, access), ...flags];
}

function dataFolder(directory: RunDirectory, access: Access): string {
  return access.dataFolder ?? join(directory.data, 'postgres');
}

async function initialise({ access, directory, files }: NewServer): Promise<void> {
  const data = dataFolder(directory, access);
  rmSync(data, { recursive: true, force: true }); // What an initialisation left that did not finish.
  mkdirSync(data, { mode: 0o700 });
  const passwordFile = `${data}.password`;
  writeFileSync(passwordFile, access.password, { mode: 0o600 });
  [data, passwordFile].forEach((path) => files.giveAway?.(path));
  const run = await startProcess({
    name: 'initdb',
    command: files.programs.initdb,
    args: [
      ...['-D', data, '-U', SUPERUSER, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--no-sync'],
      ...['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
    ],
    ...processDefaults(join(directory.logs, 'initdb.log')),
  });
  const exit = await run.exited;
  rmSync(passwordFile, { force: true });
  if (exit.code !== 0) {
    throw new Error(`initdb failed (${describeExit(exit)}):\n${lastLines(run.logPath)}`);
  }
}

function processDefaults(logPath: string): Pick<ProcessSpec, 'env' | 'cwd' | 'user' | 'logPath'> {
  const user = serverUser();
  return {
    // Nothing of the caller's PG* variables or locale may leak in.
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    cwd: '/',
    ...(user === undefined ? {} : { user: user.name }),
    logPath,
  };
}

async function canConnect(url: string): Promise<boolean> {
  await withClient(url, (client) => client.query('SELECT 1'));
  return true;
}

async function withClient<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined); // The query in flight reports it.
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
