import { RetentionPolicy } from '@coxswain/api-types';
import { type Level, LEVELS } from '@coxswain/checkpoint';
import { type Command, Option } from 'commander';
import { CliError } from '../cli-error.ts';
import { wholeNumber } from '../options/whole-number.ts';
import { columns } from '../output/output.ts';
import { problemOfOption } from '../output/problems-in.ts';
import type { Session } from '../session/session.ts';
import { addStoreOptions, type StoreOptions } from './opened-store.ts';
import { deletePlanned, type PlannedSave, planPruning } from './prune-plan.ts';

interface PruneOptions extends StoreOptions {
  readonly keepNewestVerified: number;
  readonly keepEverySteps?: number;
  readonly keep: readonly string[];
  readonly level: Level;
  readonly dryRun?: boolean;
  readonly delete?: boolean;
}

/** Adds `checkpoint prune`, which deletes old saves of a directory or a bucket by a retention policy. */
export function addPruneCommand(checkpoint: Command, session: Session): void {
  addStoreOptions(checkpoint.command('prune'))
    .argument(
      '<location>',
      'directory that holds the saves of one job, such as outputs/checkpoint, or s3://BUCKET/PREFIX',
    )
    .description('say which saves a retention policy no longer keeps, and with --delete delete them')
    .requiredOption('--keep-newest-verified <count>', 'the newest verified saves stay, and all newer ones', wholeNumber)
    .option('--keep-every-steps <steps>', 'in each interval of so many steps, the first good save stays', wholeNumber)
    .option(
      '--keep <name>',
      'a save that stays; can be repeated',
      (name, names: readonly string[]) => [...names, name],
      [],
    )
    .addOption(
      new Option('--level <level>', 'how closely each save is verified first').choices(LEVELS.slice(2)).default('V2'),
    )
    .option('--dry-run', 'delete nothing (default)')
    .addOption(new Option('--delete', 'delete the saves that do not stay').conflicts('dryRun'))
    .addHelpText('after', EXAMPLES)
    .action(async (location: string, options: PruneOptions) => {
      const policy = policyOf(options);
      const plan = await planPruning(session, location, { ...options, policy });
      const done = options.delete === true ? await deletePlanned(session, plan) : plan.saves;
      session.show(done, (saves) => prunedTable(saves, options.delete === true));
    });
}

const EXAMPLES = `
A save counts as verified if it is sound at level V2 or closer. Whatever the policy is, the newest verified save of each layout stays, and so does the
save that a file such as "latest" names. An interrupted --delete is completed by the next one.

Examples:
  coxswain checkpoint prune outputs/checkpoint --keep-newest-verified 3
  coxswain checkpoint prune outputs/checkpoint --keep-newest-verified 3 --keep-every-steps 5000 --keep step-1000 --delete`;

function policyOf({ keepNewestVerified, keepEverySteps }: PruneOptions): RetentionPolicy {
  const policy = RetentionPolicy.safeParse({ keepNewestVerified, keepEverySteps }, { reportInput: true });
  if (policy.success) return policy.data;
  throw new CliError(problemOfOption(policy.error));
}

function prunedTable(saves: readonly PlannedSave[], isDone: boolean): string {
  if (saves.length === 0) return 'No folder there has the name of a save, such as step-1000.';
  const rows = saves.map(({ name, verdict, action, because }) => [name, verdict, action, because.join('; ')]);
  const going = saves.filter(({ action }) => action === 'delete').length;
  const last = isDone
    ? ''
    : `\n\nNothing was deleted. ${going === 0 ? 'Every save stays' : `--delete deletes ${String(going)} of ${String(saves.length)} saves`}.`;
  return `${columns([['NAME', 'VERDICT', 'ACTION', 'BECAUSE'], ...rows])}${last}`;
}
