import { type GroupRole, type Role, ROLES } from '@coxswain/api-types';
import { Option, type Command } from 'commander';
import { CliError } from './cli-error.ts';
import { columns } from './output.ts';
import type { Session } from './session.ts';

/** Commands about what groups of the issuer are in a project, or (--project -) in the cluster: list, grant, revoke. */
export function addGroupCommands(program: Command, session: Session): void {
  const group = program
    .command('group')
    .description("roles of the issuer's groups in a project (its administrators), or with --project - in the cluster");

  group
    .command('list')
    .description('groups that have a role')
    .action(async () => {
      const { api, project } = await session.open();
      session.show((await api.groupRoles(project)).items, groupTable);
    });

  group
    .command('grant <group>')
    .description('give a group a role, in place of the one that it had')
    .addOption(new Option('--role <role>', 'what its members may do').choices(ROLES).makeOptionMandatory())
    .action(async (name: string, options: { readonly role: Role }) => {
      const { api, project } = await session.open();
      const made = await api.grantGroupRole(project, { group: name, role: options.role });
      session.show(made, () => `Members of ${name} are ${made.role} of ${made.project ?? 'the cluster'}.`);
    });

  group
    .command('revoke <group>')
    .description('take the role from a group; holds within seconds')
    .action(async (name: string) => {
      const { api, project } = await session.open();
      const { items } = await api.groupRoles(project);
      const found = items.find((item) => item.group === name || item.id === name);
      if (found === undefined) {
        throw new CliError(`Group "${name}" has no role there. \`coxswain group list\` shows those that have one.`);
      }
      await api.revokeGroupRole({ project, id: found.id });
      session.print(`Members of ${found.group} are no longer ${found.role} of ${found.project ?? 'the cluster'}.`);
    });
}

function groupTable(items: readonly GroupRole[]): string {
  if (items.length === 0) return 'No group has a role. `coxswain group grant GROUP --role ROLE` gives one.';
  const rows = items.map((item) => [item.group, item.role, item.createdAt.slice(0, 10), item.issuer]);
  return columns([['GROUP', 'ROLE', 'SINCE', 'ISSUER'], ...rows]);
}
