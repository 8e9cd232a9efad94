import { makeRoles } from '@coxswain/persistence';
import { runRolesCommand } from './database-roles-command.ts';

/** Creates the roles of the database during an installation. */
process.exitCode = await runRolesCommand(process.argv.slice(2), {
  adminUrl: process.env['COXSWAIN_ADMIN_DATABASE_URL'],
  makeRoles,
  print: (line) => console.log(line),
  printError: (line) => console.error(line),
});
