import { readConfig } from './config/config.ts';
import { migrate, rolesToUse } from './infrastructure/databases.ts';

/** Runs the migrations that are missing and says which; for those who do not want the API to do it at its start. */
const config = readConfig(process.env);
const done = await migrate(config, {
  roles: await rolesToUse(config),
  onLocked: (message) => console.error(`${message}; trying again.`),
});
console.log(done.length === 0 ? 'The database is up to date.' : `Ran ${done.join(', ')}.`);
