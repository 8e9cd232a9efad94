import { Database } from '@coxswain/persistence';
import { runAdminCommand } from './admin-command.ts';
import { type Config, readConfig } from './config/config.ts';

/** Makes, lists and recovers administrators: for whoever may run a program in the API's pod, and so can never be locked out. */
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
