import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createKubeClient } from '@coxswain/kube';
import { makeRoles } from '@coxswain/persistence';
import { readPrepareConfig } from './installation/prepare-config.ts';
import { prepareDatabase } from './installation/prepare-database.ts';
import { PASSWORDS_SECRET, URLS_SECRET } from './installation/secret-names.ts';
import { keepInSecret, writeSecret } from './installation/secrets.ts';
import { SECRET_KEYS } from './database-roles-command.ts';

/** A Job of the chart: makes passwords and roles of a database that the chart has made, and gives the API their URLs. */
const TRY_EVERY_MS = 2_000;

try {
  const { kubeconfigPath, namespace, adminUrlOf, passwordRefused } = readPrepareConfig(process.env, (path) =>
    readFileSync(path, 'utf8').trim(),
  );
  const client = createKubeClient({
    userAgent: 'coxswain-prepare-database',
    fieldManager: 'coxswain-prepare-database',
    ...(kubeconfigPath === undefined ? {} : { kubeconfigPath }),
  });
  let printed = '';
  try {
    await prepareDatabase({
      keep: (fresh) => keepInSecret(client, { namespace, name: PASSWORDS_SECRET }, fresh),
      adminUrl: adminUrlOf,
      passwordRefused,
      makeRoles,
      publish: (urls) => {
        const byKey = Object.entries(urls).map(([role, url]) => [SECRET_KEYS[role as keyof typeof urls], url]);
        return writeSecret(client, { namespace, name: URLS_SECRET }, Object.fromEntries(byKey));
      },
      pause: async (why) => {
        if (why !== printed) console.log(`waiting for the database to answer: ${why}`);
        printed = why;
        await delay(TRY_EVERY_MS);
      },
    });
    console.log(`the roles are made; their URLs are in the Secret ${namespace}/${URLS_SECRET}`);
  } finally {
    await client.close();
  }
} catch (error) {
  console.error(`coxswain-prepare-database: ${(error as Error).message}`);
  process.exitCode = 1;
}
