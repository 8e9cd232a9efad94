import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { Component } from '../process/component.ts';
import { createRunDirectory, persistentDirectory, type RunDirectory } from '../process/directories.ts';
import { freePort } from '../process/ports.ts';
import { findPostgresPrograms, type PostgresPrograms } from './postgres-programs.ts';
import { describeExit, lastLines, startProcess, type ProcessSpec } from '../process/processes.ts';

/** What a database server may differ in. */
export interface PostgresOptions {
  /** Kept across stops and starts with its port and password; a temporary one unless given. */
  readonly directory?: string;
  readonly maxConnections?: number;
}

/** A running PostgreSQL on loopback, of this process alone. */
export interface Postgres {
  /** Of the database `postgres`, as superuser; holds a random password. */
  readonly url: string;
  readonly logPath: string;
  /** Makes an empty database with a name of its own and returns its URL. */
  createDatabase(prefix: string): Promise<string>;
  /** Ends it, its clients' connections included, and removes the directory unless it was given. */
  stop(options?: { readonly keepLogs?: boolean }): Promise<void>;
  /** SIGKILL to the server, as after a crash; `start` brings it back with its data. */
  kill(): Promise<void>;
  /** Takes the server away in good order and keeps its data; `start` brings it back. */
  pause(): Promise<void>;
  start(): Promise<void>;
  restart(): Promise<void>;
}

interface Access {
  readonly port: number;
  readonly password: string;
}

const SUPERUSER = 'coxswain';
/** PostgreSQL refuses to run as root; every Linux has this user. */
const UNPRIVILEGED_USER = 'nobody';
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

class LocalPostgres implements Postgres {
  readonly url: string;
  readonly logPath: string;
  readonly #component: Component;
  readonly #directory: RunDirectory;

  constructor(parts: {
    programs: PostgresPrograms;
    directory: RunDirectory;
    access: Access;
    options: PostgresOptions;
  }) {
    this.#directory = parts.directory;
    this.logPath = join(parts.directory.logs, 'postgres.log');
    this.url = `postgresql://${SUPERUSER}:${parts.access.password}@127.0.0.1:${parts.access.port}/postgres`;
    this.#component = new Component('postgres', () => ({
      name: 'postgres',
      command: parts.programs.postgres,
      args: serverArgs(parts),
      ...processDefaults(this.logPath),
      stopSignal: 'SIGINT', // "Fast": ends the connections instead of waiting for the clients to.
      ready: { check: () => canConnect(this.url), deadlineMs: READY_MS },
    }));
  }

  static async prepare(directory: RunDirectory, options: PostgresOptions): Promise<LocalPostgres> {
    const programs = findPostgresPrograms();
    const accessPath = join(directory.data, 'access.json');
    if (!existsSync(accessPath)) {
      const access: Access = { port: await freePort(), password: randomBytes(24).toString('hex') };
      await initialise(directory, { programs, password: access.password });
      writeFileSync(accessPath, JSON.stringify(access), { mode: 0o600 }); // Last: its presence means "initialised".
    }
    const access = JSON.parse(readFileSync(accessPath, 'utf8')) as Access;
    return new LocalPostgres({ programs, directory, access, options });
  }

  async createDatabase(prefix: string): Promise<string> {
    const name = `${prefix.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_')}_${randomBytes(6).toString('hex')}`;
    await withClient(this.url, (client) => client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`));
    const url = new URL(this.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  async stop(options: { readonly keepLogs?: boolean } = {}): Promise<void> {
    await this.#component.stop();
    this.#directory.remove(options);
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

function serverArgs(parts: { directory: RunDirectory; access: Access; options: PostgresOptions }): string[] {
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(parts.access.port),
    unix_socket_directories: '', // Nobody else on the machine can even knock.
    max_connections: String(parts.options.maxConnections ?? 200),
    // A throw-away database need not survive the machine, only its own server.
    ...(parts.options.directory === undefined ? { fsync: 'off', full_page_writes: 'off' } : {}),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return ['-D', databaseDirectory(parts.directory), ...flags];
}

function databaseDirectory(directory: RunDirectory): string {
  return join(directory.data, 'postgres');
}

async function initialise(
  directory: RunDirectory,
  { programs, password }: { programs: PostgresPrograms; password: string },
): Promise<void> {
  const target = databaseDirectory(directory);
  rmSync(target, { recursive: true, force: true }); // What an initialisation left that did not finish.
  mkdirSync(target, { mode: 0o700 });
  const passwordFile = join(directory.data, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  giveAway(directory, [target, passwordFile]);
  const run = await startProcess({
    name: 'initdb',
    command: programs.initdb,
    args: [
      ...['-D', target, '-U', SUPERUSER, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--no-sync'],
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

/** As root, the server runs as another user, who must own its files and get to them. */
function giveAway(directory: RunDirectory, paths: readonly string[]): void {
  if (process.getuid?.() !== 0) {
    return;
  }
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name]) => name === UNPRIVILEGED_USER);
  if (entry === undefined) {
    throw new Error(`PostgreSQL does not run as root, and there is no user "${UNPRIVILEGED_USER}" to run it as`);
  }
  for (const path of paths) {
    chownSync(path, Number(entry[2]), Number(entry[3]));
  }
  chmodSync(directory.path, 0o711);
  chmodSync(directory.data, 0o711);
}

function processDefaults(logPath: string): Pick<ProcessSpec, 'env' | 'cwd' | 'user' | 'logPath'> {
  return {
    // Nothing of the caller's PG* variables or locale may leak in.
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    cwd: '/',
    user: UNPRIVILEGED_USER,
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
