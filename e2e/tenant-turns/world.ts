/** A control plane without a scheduler, a database, and an API as it is built, with the limits that it has by default. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from '@coxswain/api-client';
import { freePort, startControlPlane, startPostgres, startProcess, type ControlPlane } from '@coxswain/local-cluster';
import { Database, makeRoles } from '@coxswain/persistence';

const ROOT = join(import.meta.dirname, '../..');
const DEFINITIONS = join(ROOT, 'charts/coxswain/definitions');
const READY_MS = 60_000;

/** A project and how its requests are sent. */
export interface Tenant {
  readonly project: string;
  readonly token: string;
  readonly api: ApiClient;
}

export interface TurnsWorld {
  readonly url: string;
  readonly plane: ControlPlane;
  /** Of a superuser. */
  readonly database: Database;
  tenant(project: string): Promise<Tenant>;
  stop(): Promise<void>;
}

export async function startTurnsWorld(): Promise<TurnsWorld> {
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-turns-'));
  const [postgres, plane] = await Promise.all([
    startPostgres(),
    startControlPlane({ scheduler: false, controllerManager: false }),
  ]);
  for (const name of readdirSync(DEFINITIONS).filter((file) => file.endsWith('.yaml')))
    await plane.kubectl(['apply', '-f', '-'], { input: readFileSync(join(DEFINITIONS, name), 'utf8') });
  await plane.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
  const databaseUrl = await postgres.createDatabase('turns');
  const password = randomUUID().replaceAll('-', '');
  const prefix = new URL(databaseUrl).pathname.slice(1);
  const { urls } = await makeRoles({ adminUrl: databaseUrl, prefix, passwordOf: () => password });
  const url = `http://127.0.0.1:${await freePort()}`;
  const tokenFile = join(directory, 'administrator');
  const api = await startProcess({
    name: 'API',
    command: process.execPath,
    args: [join(ROOT, 'apps/api/dist/main.js')],
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: urls.runtime,
      COXSWAIN_SYSTEM_DATABASE_URL: urls.system,
      COXSWAIN_QUEUE_DATABASE_URL: urls.queue,
      COXSWAIN_MIGRATOR_DATABASE_URL: urls.migrator,
      COXSWAIN_LISTEN_PORT: new URL(url).port,
      COXSWAIN_ROLE: 'all',
      COXSWAIN_KUBECONFIG: plane.adminKubeconfigPath,
      COXSWAIN_BOOTSTRAP_TOKEN_FILE: tokenFile,
      COXSWAIN_LOG_LEVEL: 'warn',
    },
    logPath: join(directory, 'api.log'),
    ready: {
      check: async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true,
      deadlineMs: READY_MS,
    },
  });
  const admin = new ApiClient({ server: url, token: readFileSync(tokenFile, 'utf8').trim() });
  const database = await Database.connect({ url: databaseUrl, applicationName: 'turns', maxConnections: 1 });
  return {
    url,
    plane,
    database,
    tenant: async (project) => {
      await plane.kubectl(['create', 'namespace', project]);
      await admin.createProject({ name: project, namespaces: [project] });
      const { token } = await admin.createToken(project, { name: 'test', role: 'operator' });
      return { project, token, api: new ApiClient({ server: url, token }) };
    },
    stop: async () => {
      await database.close();
      await api.stop();
      await Promise.all([postgres.stop(), plane.stop()]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
