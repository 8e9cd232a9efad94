import { QUEUE_RULE_NAMES, QUEUE_RULE_TITLES, type QueueRuleName } from '@coxswain/simulation/queue-rules';
import { type Command, InvalidArgumentError } from 'commander';
import { render } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { replayText } from './replay-tables.ts';
import type { ReplayOptions } from './run-replay.ts';

interface CommandOptions extends ReplayOptions {
  readonly json?: true;
}

/** `coxswain simulate queue`: how long the jobs of a cluster's own history would have waited under other scheduling rules. */
export function addReplayCommand(simulate: Command, session: Session): void {
  simulate
    .command('queue <file...>')
    .description("replay a cluster's own history under each scheduling rule; works offline")
    .option('--nodes <count>', 'nodes of the cluster (default: as many as the history used at once)', whole(1, 10_000))
    .option('--gpus-per-node <count>', 'GPUs of a node', whole(1, 16), 8)
    .option('--rules <names>', `rules to try: ${QUEUE_RULE_NAMES.join(',')}`, ruleNames, QUEUE_RULE_NAMES)
    .option('--json', 'the same as --output json')
    .addHelpText('after', EXAMPLES)
    .action(async (files: readonly string[], { json, ...options }: CommandOptions) => {
      const { runReplay } = await import('./run-replay.ts');
      const answer = await runReplay(files, options, session);
      // The command above has the option too, and takes it first.
      const isJson = json === true || simulate.opts<{ readonly json?: true }>().json === true;
      session.print(render(answer, isJson ? 'json' : session.outputFormat(), replayText));
    });
}

const EXAMPLES = `
Files are the output of sacct --parsable2, or jobs of Coxswain as JSON. How to write them: docs/tasks/try-scheduling-rules.md.

Examples:
  coxswain simulate queue sacct.txt --nodes 64
  coxswain simulate queue jobs.json --rules coxswain,fifo,easy-exact`;

function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,6}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`"${text}" is not a whole number from ${least} to ${most}.`);
  };
}

function ruleNames(text: string): readonly QueueRuleName[] {
  return text.split(',').map((name) => {
    const known = QUEUE_RULE_NAMES.find((one) => one === name);
    if (known !== undefined) return known;
    const all = QUEUE_RULE_NAMES.map((one) => `${one} (${QUEUE_RULE_TITLES[one]})`).join(', ');
    throw new InvalidArgumentError(`"${name}" is not a rule. The rules are ${all}.`);
  });
}
