import { Database } from '@coxswain/persistence';
import { readConfig } from './config/config.ts';

/** Runs the migrations that are missing and says which; for those who do not want the API to do it at its start. */
const database = await Database.connect({
  url: readConfig(process.env).databaseUrl,
  applicationName: 'coxswain-migrate',
});
const done = await database.migrate({ onLocked: (message) => console.error(`${message}; trying again.`) });
console.log(done.length === 0 ? 'The database is up to date.' : `Ran ${done.join(', ')}.`);
await database.close();
