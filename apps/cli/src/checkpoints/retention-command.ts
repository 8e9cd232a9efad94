import { CheckpointRetention, type Job } from '@coxswain/api-types';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { wholeNumber } from '../options/whole-number.ts';
import { columns } from '../output/output.ts';
import { problemOfOption } from '../output/problems-in.ts';
import type { Session } from '../session/session.ts';
import type { PlannedRetention } from './retention-plan.ts';

interface RetentionOptions {
  readonly keepNewestVerified?: number;
  readonly keepEverySteps?: number;
  readonly keepBestByLoss?: number;
}

/** Adds `checkpoint retention`, which says what a policy would do with the saves of a job. It changes nothing. */
export function addRetentionCommand(checkpoint: Command, session: Session): void {
  checkpoint
    .command('retention')
    .argument('<job>', 'name or id of a job')
    .description('say which saves of a job a retention policy keeps and which it deletes, and why; deletes nothing')
    .option('--keep-newest-verified <count>', 'another policy: so many of the newest verified saves stay', wholeNumber)
    .option('--keep-every-steps <steps>', 'with it: in each interval of so many steps, one stays', wholeNumber)
    .option(
      '--keep-best-by-loss <count>',
      'with it: so many of the verified saves with the lowest loss stay',
      wholeNumber,
    )
    .addHelpText('after', HELP)
    .action(async (name: string, options: RetentionOptions) => {
      const project = await session.open();
      const { job, at } = await project.find(name);
      if (job.state === 'Deleted')
        throw new CliError(`Job ${job.name} was deleted, so retention follows what its Checkpoints recorded.`);
      const policy = policyOf(job, options);
      const { items } = await project.api.checkpoints(at);
      // The rules of the operator are loaded here, because no other command needs them.
      const { planFromRecords } = await import('./retention-plan.ts');
      session.show(planFromRecords(job, items, policy), retentionTable);
    });
}

const HELP = `
Without options, the policy of the job counts. The operator decides again on what the cluster holds then. It also keeps saves that a pod or another job uses.

Example:
  coxswain checkpoint retention tiny-gpt --keep-newest-verified 3 --keep-every-steps 5000`;

function policyOf({ name, spec }: Job, options: RetentionOptions): CheckpointRetention {
  const { keepNewestVerified, keepEverySteps, keepBestByLoss } = options;
  const own = spec.checkpoint?.retention;
  if (keepNewestVerified === undefined) {
    if (keepEverySteps !== undefined || keepBestByLoss !== undefined)
      throw new CliError(
        `${keepEverySteps === undefined ? '--keep-best-by-loss' : '--keep-every-steps'} needs --keep-newest-verified: a policy always keeps the newest saves.`,
      );
    if (own !== undefined) return own;
    throw new CliError(
      `Job ${name} states no spec.checkpoint.retention, so only a policy of its runtime can apply. Give one with --keep-newest-verified.`,
    );
  }
  const policy = CheckpointRetention.safeParse(
    { keepNewestVerified, keepEverySteps, keepBestByLoss },
    { reportInput: true },
  );
  if (policy.success) return policy.data;
  throw new CliError(problemOfOption(policy.error));
}

function retentionTable(saves: readonly PlannedRetention[]): string {
  if (saves.length === 0) return 'No checkpoints.';
  const rows = saves.map(({ step, name, action, because }) => [
    `${step}`,
    name,
    action === 'Keep' ? 'stays' : 'goes',
    because,
  ]);
  const going = saves.filter(({ action }) => action === 'Delete').length;
  const sum = `${going} of ${saves.length} saves would go. Nothing was deleted: the operator decides again on what the cluster holds then.`;
  return `${columns([['STEP', 'NAME', 'ACTION', 'BECAUSE'], ...rows])}\n\n${sum}`;
}
