import { Database } from '@coxswain/persistence';
import { runAdminCommand } from './admin-command.ts';
import { type Config, readConfig } from './config/config.ts';

/** Creates, lists and recovers administrators. Runs in the API's pod, so that a user with rights to the pod is never locked out. */
process.exitCode = await runAdminCommand(process.argv.slice(2), {
  connect: () =>
    Database.connect({ url: config().databaseUrls.system, applicationName: 'coxswain-admin', maxConnections: 1 }),
  lifetimeDays: () => config().tokenLifetimeDays,
  now: () => new Date(),
  print: (line) => console.log(line),
  printError: (line) => console.error(line),
});

/** Read when it is needed: help needs none. */
function config(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    console.error((error as Error).message);
    return process.exit(1);
  }
}
