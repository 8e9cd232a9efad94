/**
 * Which module has which command, in the groups in which help lists them. A command line loads the module of its own command alone: `coxswain get` reads no planner.
 */
import type { Command } from 'commander';
import type { Session } from './session/session.ts';

type AddCommands = (program: Command, session: Session) => unknown;

interface CommandModule {
  /** Names and aliases of its commands; a test compares them with what it adds. */
  readonly names: readonly string[];
  readonly load: () => Promise<AddCommands>;
}

interface CommandGroup {
  readonly title: string;
  readonly modules: readonly CommandModule[];
}

/** Every command but those of the shell. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    title: 'Jobs:',
    modules: [
      { names: ['init'], load: async () => (await import('./init/init-command.ts')).addInitCommand },
      { names: ['import'], load: async () => (await import('./import/import-command.ts')).addImportCommand },
      { names: ['export'], load: async () => (await import('./import/export-command.ts')).addExportCommand },
      {
        names: ['get', 'list', 'jobs', 'watch', 'events', 'steps', 'checkpoints', 'logs', 'gpus', 'whoami'],
        load: async () => (await import('./jobs/reading-commands.ts')).addReadingCommands,
      },
      { names: ['queue'], load: async () => (await import('./jobs/queue-command.ts')).addQueueCommand },
      { names: ['explain'], load: async () => (await import('./jobs/explain-command.ts')).addExplainCommand },
      { names: ['goodput'], load: async () => (await import('./jobs/goodput-command.ts')).addGoodputCommand },
      { names: ['costs'], load: async () => (await import('./jobs/costs-command.ts')).addCostsCommand },
      { names: ['incidents'], load: async () => (await import('./jobs/incidents-command.ts')).addIncidentsCommand },
      { names: ['stacks'], load: async () => (await import('./jobs/stacks-command.ts')).addStacksCommand },
      { names: ['observe'], load: async () => (await import('./jobs/observe-command.ts')).addObserveCommand },
      {
        names: ['submit', 'label', 'suspend', 'cancel', 'resume', 'delete'],
        load: async () => (await import('./jobs/acting-commands.ts')).addActingCommands,
      },
    ],
  },
  {
    title: 'Layouts and plans:',
    modules: [
      { names: ['layout'], load: async () => (await import('./layouts/layout-commands.ts')).addLayoutCommands },
      {
        names: ['engines', 'render'],
        load: async () => (await import('./engines/engine-commands.ts')).addEngineCommands,
      },
      {
        names: ['plan', 'predict', 'why-not', 'presets'],
        load: async () => (await import('./plan/planner-commands.ts')).addPlannerCommands,
      },
      {
        names: ['calibrate'],
        load: async () => (await import('./calibrate/calibrate-command.ts')).addCalibrateCommand,
      },
      { names: ['place'], load: async () => (await import('./place/place-command.ts')).addPlaceCommand },
      { names: ['simulate'], load: async () => (await import('./simulate/simulate-command.ts')).addSimulateCommand },
      { names: ['plans'], load: async () => (await import('./plan/plans-commands.ts')).addPlansCommands },
    ],
  },
  {
    title: 'Checkpoints:',
    modules: [
      {
        names: ['checkpoint'],
        load: async () => (await import('./checkpoints/checkpoint-commands.ts')).addCheckpointCommands,
      },
    ],
  },
  {
    title: 'Clusters:',
    modules: [
      { names: ['fabric'], load: async () => (await import('./fabric/fabric-commands.ts')).addFabricCommands },
      { names: ['health'], load: async () => (await import('./health/health-commands.ts')).addHealthCommands },
      { names: ['doctor'], load: async () => (await import('./doctor/doctor-command.ts')).addDoctorCommand },
    ],
  },
  {
    title: 'Projects and access:',
    modules: [
      { names: ['project'], load: async () => (await import('./projects/project-commands.ts')).addProjectCommands },
      { names: ['token'], load: async () => (await import('./sign-in/token-commands.ts')).addTokenCommands },
      { names: ['webhooks'], load: async () => (await import('./projects/webhook-commands.ts')).addWebhookCommands },
      { names: ['audit'], load: async () => (await import('./projects/audit-command.ts')).addAuditCommand },
      {
        names: ['login', 'logout'],
        load: async () => (await import('./sign-in/sign-in-commands.ts')).addSignInCommands,
      },
      { names: ['group'], load: async () => (await import('./projects/group-commands.ts')).addGroupCommands },
    ],
  },
];

/** Adds commands to a program, in their groups. */
export type CommandAdder = (program: Command, session: Session) => Command;

/** Loads the module of the command, or all of them if no module has it: help, completion, and a word that is not known. */
export async function loadCommands(command: string | undefined): Promise<CommandAdder> {
  const isWanted = ({ names }: CommandModule): boolean => command !== undefined && names.includes(command);
  const isKnown = COMMAND_GROUPS.some(({ modules }) => modules.some(isWanted));
  const groups = await Promise.all(
    COMMAND_GROUPS.map(async ({ title, modules }) => ({
      title,
      adders: await Promise.all(modules.filter((one) => !isKnown || isWanted(one)).map(({ load }) => load())),
    })),
  );
  return (program, session) => {
    for (const { title, adders } of groups) {
      program.commandsGroup(title);
      for (const add of adders) add(program, session);
    }
    return program;
  };
}

/** The first word of a command line that is neither an option nor the value of one in `withValue`. */
export function firstWord(argv: readonly string[], withValue: ReadonlySet<string>): string | undefined {
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? '';
    if (!word.startsWith('-')) return word;
    if (withValue.has(word)) index++;
  }
  return undefined;
}
