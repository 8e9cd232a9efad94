import { meaningOf } from '@coxswain/api-client';
import type { Project, ProjectLimit } from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { columns } from '../output/output.ts';
import type { Session } from '../session/session.ts';

/** Commands about projects: create, list, show, limits, namespaces. */
export function addProjectCommands(program: Command, session: Session): void {
  const project = program.command('project').description('manage projects and the namespaces that they own');

  project
    .command('create <name>')
    .description('create a project (cluster administrators); jobs already in its namespaces become its own')
    .option(
      '-n, --namespace <name...>',
      'namespaces of the project; jobs without a namespace go to the first (default: the name of the project)',
    )
    .addHelpText('after', CREATE_EXAMPLE)
    .action(async (name: string, options: { readonly namespace?: readonly string[] }) => {
      const made = await session.connect().createProject({ name, namespaces: options.namespace ?? [name] });
      session.show(made, (shown) =>
        [
          `Made project ${shown.name}, which owns ${listed(shown.namespaces)}.`,
          `Coxswain creates no namespaces: kubectl create namespace ${shown.namespaces[0] ?? shown.name}, if it does not exist`,
          `Its first token: coxswain token create NAME --role admin --project ${shown.name}`,
        ].join('\n'),
      );
    });

  project
    .command('list')
    .description('list the projects that your token can read')
    .action(async () => {
      const { items } = await session.connect().projects();
      session.show(items, (shown) => projectTable(shown, session.now()));
    });

  project
    .command('show [name]')
    .description('show one project (default: the project of --project or of the token)')
    .action(async (name: string | undefined) => {
      session.show(await find(session, name), (shown) => projectDetails(shown, session.now()));
    });

  project
    .command('priority-classes <name> [classes...]')
    .description('show which PriorityClasses jobs of a project may name, or set them (cluster administrators)')
    .option('--add', 'add the classes to those that the project may use already')
    .option('--none', 'let the project use none')
    .addHelpText('after', '\nExample:\n  coxswain project priority-classes research high urgent')
    .action(async (name: string, classes: readonly string[], options: ClassOptions) => {
      const api = session.connect();
      const priorityClasses = await wantedClasses(classes, options, () => api.project(name));
      const changed =
        priorityClasses === undefined ? await api.project(name) : await api.updateProject(name, { priorityClasses });
      session.show(changed, (shown) => `Jobs of project ${shown.name} may name ${listedClasses(shown)}.`);
    });

  project
    .command('limits [name]')
    .description('show the limits of a project, and its current usage')
    .addHelpText('after', '\nAdministrators set these limits: docs/reference/limits.md')
    .action(async (name: string | undefined) => {
      const { api, project } = name === undefined ? await session.open() : { api: session.connect(), project: name };
      session.show((await api.projectLimits(project)).items, limitTable);
    });

  project
    .command('namespaces [name]')
    .description('list the namespaces of a project, one per line; jobs without a namespace go to the first')
    .addHelpText('after', '\nExample:\n  coxswain project namespaces research | xargs -n1 kubectl create namespace')
    .action(async (name: string | undefined) => {
      const { namespaces } = await find(session, name);
      session.show(namespaces, (shown) => shown.join('\n'));
    });
}

const CREATE_EXAMPLE = `
Namespaces are not made in Kubernetes by this; see \`coxswain project namespaces\`. Example:
  coxswain project create research --namespace research research-batch`;

async function find(session: Session, name: string | undefined): Promise<Project> {
  if (name !== undefined) return session.connect().project(name);
  const { api, project } = await session.open();
  return api.project(project);
}

function projectTable(items: readonly Project[], now: Date): string {
  if (items.length === 0) return 'No projects. `coxswain project create NAME` makes one (cluster administrators).';
  const rows = items.map(({ name, namespaces, createdAt }) => [name, namespaces.join(', '), age(createdAt, now)]);
  return columns([['NAME', 'NAMESPACES', 'AGE'], ...rows]);
}

const MEANINGS: Readonly<Record<ProjectLimit['name'], string>> = {
  requestBurst: 'requests at once',
  changeBurst: 'changes of jobs at once',
  writeBurst: 'requests at once that may change something',
  stopBurst: 'requests at once that stop a job',
  cpuMilliseconds: 'milliseconds of processor time at once',
  concurrentRequests: 'requests under way',
  plans: 'plans waiting or searched',
  streams: 'streams of events',
  logStreams: 'logs that are read',
  jobs: 'jobs that have not ended',
  endedJobs: 'jobs that have ended and are still in the cluster',
  layouts: 'saved layouts',
  tokens: 'tokens that are good',
  webhooks: 'webhooks',
  storedPlans: 'plans kept, the newest',
  jobRecords: 'records of jobs that are gone, the newest',
};

function limitTable(items: readonly ProjectLimit[]): string {
  const rows = items.map(({ name, most, used, perSecond, perMinute, counted }) => [
    name,
    String(used),
    most === null ? 'no limit' : String(most),
    [
      meaningOf(MEANINGS, name),
      ...(perSecond === null ? [] : [`${perSecond} a second come back`]),
      ...(perMinute === undefined ? [] : [`${perMinute} a minute come back`]),
    ].join('; ') + (counted === 'inReplica' ? ' (in the replica that answered)' : ''),
  ]);
  return columns([['LIMIT', 'USED', 'MOST', 'OF'], ...rows]);
}

function projectDetails(project: Project, now: Date): string {
  const { name, namespaces, createdAt } = project;
  return columns([
    ['Name:', name],
    ['Namespaces:', namespaces.join(', ')],
    ...((project.priorityClasses ?? []).length === 0 ? [] : [['Priority classes:', listedClasses(project)]]),
    ['Created:', `${age(createdAt, now)} ago`],
  ]);
}

interface ClassOptions {
  readonly add?: boolean;
  readonly none?: boolean;
}

/** The classes to set; undefined: none were given, so none are changed. */
async function wantedClasses(
  classes: readonly string[],
  { add = false, none = false }: ClassOptions,
  find: () => Promise<Project>,
): Promise<string[] | undefined> {
  if (none && (classes.length > 0 || add)) throw new CliError('--none takes no classes and no --add');
  if (none) return [];
  if (classes.length === 0) return undefined;
  const { priorityClasses = [] } = add ? await find() : {};
  return [...new Set([...priorityClasses, ...classes])];
}

function listedClasses({ priorityClasses = [] }: Project): string {
  return priorityClasses.length === 0 ? 'none' : priorityClasses.join(', ');
}

function age(createdAt: string, now: Date): string {
  return formatDuration(now.getTime() - Date.parse(createdAt));
}

function listed(namespaces: readonly string[]): string {
  return `${namespaces.length === 1 ? 'namespace' : 'namespaces'} ${namespaces.join(', ')}`;
}
