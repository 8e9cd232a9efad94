import type { FailurePresetName, StandbyTable } from '@coxswain/simulation';
import { FAILURES } from '@coxswain/simulation/presets';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { columns, render } from '../output/output.ts';
import type { Session } from '../session/session.ts';

interface StandbyOptions {
  readonly nodes: number;
  readonly refillHours: number;
  readonly failures: FailurePresetName;
  readonly seed: number;
  readonly json?: true;
}

/** `coxswain simulate standbys`: how many standbys a job needs so that almost every fault finds one. */
export function addStandbyCommand(simulate: Command, session: Session): void {
  simulate
    .command('standbys')
    .description('how many faults would find a standby; works offline')
    .requiredOption('--nodes <count>', 'nodes of the job, without standbys', between(1, 100_000, /^[0-9]{1,6}$/))
    .option('--refill-hours <hours>', 'mean time until a lost node is replaced', between(0.1, 1_000, NUMBER), 24)
    .addOption(
      new Option('--failures <preset>', 'failure rates to use').choices(Object.keys(FAILURES)).default('llama3'),
    )
    .option('--seed <number>', 'seed of the simulation', between(0, 999_999_999, /^[0-9]{1,9}$/), 1)
    .option('--json', 'the same as --output json')
    .addHelpText('after', EXAMPLES)
    .action(async ({ json, ...question }: StandbyOptions) => {
      const { standbyTable } = await import('@coxswain/simulation');
      // The command above has these options too, and takes them first.
      const above = simulate.opts<Partial<StandbyOptions>>();
      const given = (name: 'failures' | 'seed'): boolean => simulate.getOptionValueSource(name) === 'cli';
      const answer = standbyTable({
        ...question,
        ...(given('failures') && above.failures !== undefined ? { failures: above.failures } : {}),
        ...(given('seed') && above.seed !== undefined ? { seed: Math.floor(above.seed) } : {}),
      });
      const isJson = json === true || above.json === true;
      session.print(render(answer, isJson ? 'json' : session.outputFormat(), standbyText));
    });
}

const EXAMPLES = `
Erlang B assumes that a node becomes a standby as soon as it is back. What is simulated: docs/reference/simulation.md.

Examples:
  coxswain simulate standbys --nodes 128
  coxswain simulate standbys --nodes 1024 --refill-hours 4`;

const NUMBER = /^[0-9]{1,4}([.][0-9]{1,3})?$/;

function standbyText({ question, source, faultsPerDay, enough, rows }: StandbyTable): string {
  const { nodes, refillHours, failures } = question;
  return [
    `${enough} standby node${enough === 1 ? '' : 's'} for ${nodes} nodes: then at most 1 % of the faults find none. ${faultsPerDay.toFixed(2)} faults a day, and ${refillHours} h until a lost node is replaced. Failures: ${failures}.`,
    columns([
      ['STANDBYS', 'ERLANG B', 'REFILLED AT ONCE', 'REFILLED BY ATTEMPTS'],
      ...rows.map(({ standbys, erlangB, refilledAtOnce, refilledByAttempts }) => [
        String(standbys),
        ...[erlangB, refilledAtOnce, refilledByAttempts].map((share) => `${(100 * share).toFixed(1)} %`),
      ]),
    ]),
    'Shares of the faults that find a standby. Refilled at once: simulated, with nodes that become standbys when they are back. Refilled by attempts: simulated, with nodes that become standbys when the next attempt begins.',
    source,
  ].join('\n\n');
}

function between(least: number, most: number, form: RegExp): (text: string) => number {
  return (text) => {
    const value = form.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`"${text}" is not a number from ${least} to ${most}.`);
  };
}
