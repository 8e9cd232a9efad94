import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const PROGRAM = join(import.meta.dirname, '../../../../apps/api/dist/database-roles.js');

/** Which variable of the API takes which line of the program. */
const VARIABLES: Readonly<Record<string, string>> = {
  url: 'DATABASE_URL',
  'system-url': 'COXSWAIN_SYSTEM_DATABASE_URL',
  'queue-url': 'COXSWAIN_QUEUE_DATABASE_URL',
  'migrator-url': 'COXSWAIN_MIGRATOR_DATABASE_URL',
};

/** Makes the roles of the database with the program that administrators use, and gives the environment of an API that uses them. */
export async function makeDatabaseRoles(adminUrl: string): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], {
    env: { ...process.env, NODE_OPTIONS: undefined, COXSWAIN_ADMIN_DATABASE_URL: adminUrl },
    timeout: 60_000,
  });
  return Object.fromEntries(
    stdout.split('\n').flatMap((line) => {
      const [, key = '', url = ''] = /^([a-z-]+)=(.*)$/.exec(line) ?? [];
      const variable = VARIABLES[key];
      return variable === undefined ? [] : [[variable, url]];
    }),
  );
}
