/** Completes command lines in a shell: commands, options and their choices, and names of jobs. */
import { Argument, type Command } from 'commander';
import type { Session } from '../session/session.ts';

const SHELLS = ['bash', 'zsh', 'fish'];
/** A person who presses Tab does not wait longer for names from the server. */
const NAMES_WITHIN_MS = 1_500;
const MOST_NAMES = 200;
/** Name of the argument that takes a job. */
const JOB = 'job';

const EXAMPLES = `
Examples:
  bash   echo 'source <(coxswain completion bash)' >> ~/.bashrc
  zsh    echo 'source <(coxswain completion zsh)' >> ~/.zshrc
  fish   coxswain completion fish > ~/.config/fish/completions/coxswain.fish

bash needs the package bash-completion, as the completion of kubectl does.`;

/**
 * `completion` prints the script of a shell; the script asks the hidden command `complete` at each Tab. `commands` makes a program with all other
 * commands, for their names and options.
 */
export function addCompletionCommand(program: Command, session: Session, commands: () => Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .description('print a script that completes commands, options and job names in your shell; works offline')
    .addHelpText('after', EXAMPLES)
    .action(async (shell: string) => {
      const { default: completions } = await import('@bomb.sh/tab');
      completions.setup('coxswain', 'coxswain', shell);
    });

  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: readonly string[]) => {
      const { default: register } = await import('@bomb.sh/tab/commander');
      const completions = register(commands(), { completionCommandName: 'completion' });
      const commandsOfJobs = [...completions.commands.values()].flatMap(({ value, arguments: taken }) => {
        const job = taken.get(JOB);
        return job === undefined ? [] : [{ command: value.split(' '), job }];
      });
      if (commandsOfJobs.some(({ command }) => beginsWith(words, command))) {
        const names = await jobNames(session);
        for (const { job } of commandsOfJobs)
          job.handler = (complete) => names.forEach(([name, state]) => complete(name, state));
      }
      completions.parse([...words]);
    });
}

/** Whether the words before the one that is being typed are of this command, among options. */
function beginsWith(words: readonly string[], command: readonly string[]): boolean {
  const named = words.slice(0, -1).filter((word) => !word.startsWith('-'));
  return command.every((part) => named.includes(part));
}

/** Names and states of jobs, the newest first. None where the server cannot be asked: a completion prints no error. */
async function jobNames(session: Session): Promise<readonly (readonly [string, string])[]> {
  const names: (readonly [string, string])[] = [];
  const collect = async (): Promise<void> => {
    const { api, project } = await session.open();
    for await (const { name, state } of api.jobs(project, {})) {
      names.push([name, state]);
      if (names.length >= MOST_NAMES) return;
    }
  };
  await Promise.race([collect().catch(() => undefined), session.pause(NAMES_WITHIN_MS)]);
  return names;
}
