import { GROUP_KINDS, type GroupKind, type GroupRole, type Role, ROLES } from '@coxswain/api-types';
import { Option, type Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { columns } from '../output/output.ts';
import type { Session } from '../session/session.ts';

/** Commands about what groups of the issuer, and accounts of Kubernetes, are in a project, or (--project -) in the cluster: list, grant, revoke. */
export function addGroupCommands(program: Command, session: Session): void {
  const group = program
    .command('group')
    .description(
      "manage roles of the identity provider's groups and of service accounts, in a project (project administrators) or, with --project -, in the cluster",
    );

  group
    .command('list')
    .description('list groups that have a role')
    .action(async () => {
      const { api, project } = await session.open();
      session.show((await api.groupRoles(project)).items, groupTable);
    });

  group
    .command('grant <group>')
    .description('set the role of a group or a service account')
    .addOption(new Option('--role <role>', 'role of its members').choices(ROLES).makeOptionMandatory())
    .addOption(kindOption().default('group'))
    .action(async (name: string, { role, kind }: { readonly role: Role; readonly kind: GroupKind }) => {
      const { api, project } = await session.open();
      const made = await api.grantGroupRole(project, { kind, group: name, role });
      session.show(made, () => `${whoOf(made)} ${made.role} of ${made.project ?? 'the cluster'}.`);
    });

  group
    .command('revoke <group>')
    .description('remove the role of a group or a service account; takes effect within seconds')
    .addOption(kindOption())
    .action(async (name: string, { kind }: { readonly kind?: GroupKind }) => {
      const { api, project } = await session.open();
      const { items } = await api.groupRoles(project);
      const found = theOne(items, name, kind);
      await api.revokeGroupRole({ project, id: found.id });
      session.print(`${whoOf(found)} no longer ${found.role} of ${found.project ?? 'the cluster'}.`);
    });
}

function kindOption(): Option {
  const meaning = 'a group of the issuer, system:serviceaccounts:NAMESPACE, or system:serviceaccount:NAMESPACE:NAME';
  return new Option('--kind <kind>', meaning).choices(GROUP_KINDS);
}

/** By id, or by name where that means one alone. */
function theOne(items: readonly GroupRole[], name: string, kind: GroupKind | undefined): GroupRole {
  const [found, other] = items.filter(
    (item) => (item.group === name || item.id === name) && (kind === undefined || item.kind === kind),
  );
  if (found === undefined) {
    throw new CliError(`"${name}" has no role there. \`coxswain group list\` lists the existing roles.`);
  }
  if (other === undefined) return found;
  throw new CliError(`"${name}" is a ${found.kind} and a ${other.kind} there. Choose one with --kind.`);
}

function whoOf({ kind, group }: GroupRole): string {
  return kind === 'serviceAccount' ? `${group} is` : `Members of ${group} are`;
}

function groupTable(items: readonly GroupRole[]): string {
  if (items.length === 0) return 'No group has a role. `coxswain group grant GROUP --role ROLE` gives one.';
  const rows = items.map(({ kind, group, role, createdAt, issuer }) => [
    group,
    kind,
    role,
    createdAt.slice(0, 10),
    issuer ?? '-',
  ]);
  return columns([['GROUP', 'KIND', 'ROLE', 'SINCE', 'ISSUER'], ...rows]);
}
