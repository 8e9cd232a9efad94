import {
  type CheckpointPage,
  CheckpointPin,
  type CheckpointRecord,
  type CheckpointVerifyRequest,
  type VerificationLevel,
} from '@coxswain/api-types';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CliError } from '../cli-error.ts';
import { wholeNumber } from '../options/whole-number.ts';
import type { Session } from '../session/session.ts';
import { catalogueTable, checkpointText } from './catalogue-tables.ts';
import { findCheckpoint } from './find-checkpoint.ts';
import { verdictLines, waitForVerdict } from './wait-for-verdict.ts';

const MAX_PAGE = 500;
const VERDICTS = ['sound', 'damaged', 'incomplete', 'suspect', 'unverifiable', 'none'];
const NAME_HELP = 'name or UID of a Checkpoint of the project';

interface ListOptions {
  readonly good?: true;
  readonly verdict?: string;
  readonly deleted?: true;
  readonly limit: number;
}

/** Adds `checkpoint list`, `get`, `pin`, `unpin` and `forget`, which ask the server for the Checkpoints of a project. */
export function addCatalogueCommands(checkpoint: Command, session: Session): void {
  addListCommand(checkpoint, session);
  checkpoint
    .command('get')
    .argument('<name>', NAME_HELP)
    .description('show one Checkpoint of the project and each verification of it')
    .addHelpText('after', '\nExample:\n  coxswain checkpoint get tiny-gpt-1a5e-d1ff3a84-e1-s40')
    .action(async (name: string) => {
      const { project, at } = await findCheckpoint(session, name);
      session.show(await project.api.checkpoint(at), checkpointText);
    });
  checkpoint
    .command('pin')
    .argument('<name>', NAME_HELP)
    .description('keep a Checkpoint, whatever the retention; a new reason replaces the old one')
    .requiredOption('--reason <text>', 'why it is kept', pinReason)
    .addHelpText(
      'after',
      '\nExample:\n  coxswain checkpoint pin tiny-gpt-1a5e-d1ff3a84-e1-s40 --reason "baseline of the paper"',
    )
    .action(async (name: string, { reason }: { readonly reason: string }) => {
      const { project, at } = await findCheckpoint(session, name);
      session.show(await project.api.pinCheckpoint(at, { reason }), (one) => `Pinned ${one.name}: ${one.pin ?? '-'}`);
    });
  checkpoint
    .command('unpin')
    .argument('<name>', NAME_HELP)
    .description('let the retention delete a Checkpoint again')
    .addHelpText('after', '\nExample:\n  coxswain checkpoint unpin tiny-gpt-1a5e-d1ff3a84-e1-s40')
    .action(async (name: string) => {
      const { project, at } = await findCheckpoint(session, name);
      session.show(await project.api.unpinCheckpoint(at), (one) => `Unpinned ${one.name}`);
    });
  checkpoint
    .command('forget')
    .argument('<name>', NAME_HELP)
    .description('delete the Checkpoint of an adopted save; its files stay')
    .option('-y, --yes', 'delete it without a question')
    .addHelpText('after', '\nExample:\n  coxswain checkpoint forget llama-run-7 --yes')
    .action(async (name: string, { yes }: { readonly yes?: true }) => forgetCheckpoint(session, name, yes === true));
}

async function forgetCheckpoint(session: Session, name: string, isSure: boolean): Promise<void> {
  const { project, checkpoint, at } = await findCheckpoint(session, name);
  if (!isSure)
    throw new CliError(
      `Nothing was done. Checkpoint ${checkpoint.name} would be deleted, and its files in ${checkpoint.location} would stay. To delete it, add --yes.`,
    );
  await project.api.forgetCheckpoint(at);
  session.show({ name: checkpoint.name }, () => `Forgot ${checkpoint.name}. Its files stay in ${checkpoint.location}.`);
}

function addListCommand(checkpoint: Command, session: Session): void {
  checkpoint
    .command('list [job]')
    .description('list the Checkpoints of the project or of one job, newest first')
    .option('--good', 'only those that are complete, not suspect, and not found damaged or incomplete')
    .addOption(new Option('--verdict <verdict>', 'only those with this verdict').choices(VERDICTS))
    .option('--deleted', 'also those whose object was deleted')
    .option('--limit <count>', 'maximum number of Checkpoints', wholeNumber, 50)
    .addHelpText(
      'after',
      '\nExamples:\n  coxswain checkpoint list tiny-gpt\n  coxswain checkpoint list tiny-gpt --good --limit 1    # the latest good one',
    )
    .action(async (job: string | undefined, { limit, ...filters }: ListOptions) => {
      const { api, project } = await session.open();
      const { items, hasMore } = await upTo(Math.max(1, limit), (page) =>
        api.projectCheckpoints(project, { ...filters, job, ...page }),
      );
      session.show(items, (shown) => catalogueTable(shown, session.widthColumns));
      if (hasMore) session.printError(`More Checkpoints exist. \`--limit\` sets how many are listed (now ${limit}).`);
    });
}

/** A page ends early if its records are large. */
async function upTo(
  most: number,
  read: (page: { readonly pageSize: number; readonly pageToken?: string }) => Promise<CheckpointPage>,
): Promise<{ readonly items: readonly CheckpointRecord[]; readonly hasMore: boolean }> {
  const found: CheckpointRecord[] = [];
  let token: string | undefined;
  do {
    const { items, nextPageToken } = await read({
      pageSize: Math.min(MAX_PAGE, most - found.length),
      ...(token === undefined ? {} : { pageToken: token }),
    });
    found.push(...items);
    token = nextPageToken;
  } while (token !== undefined && found.length < most);
  return { items: found, hasMore: token !== undefined };
}

function pinReason(text: string): string {
  const parsed = CheckpointPin.shape.reason.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError('Give a reason in one line of 1 to 256 characters.');
}

/** How a Checkpoint of the project is verified. */
export interface RemoteVerifyOptions {
  readonly level: VerificationLevel;
  readonly wait?: true;
  readonly timeout: number;
}

/** Has the cluster verify a Checkpoint. With `wait`, the exit code is 1 unless it is found sound or unverifiable, as for a directory. */
export async function verifyCheckpoint(session: Session, name: string, options: RemoteVerifyOptions): Promise<void> {
  const found = await findCheckpoint(session, name);
  const asked = await found.project.api.verifyCheckpoint(found.at, { level: options.level });
  if (options.wait !== true) return session.show(asked, requestText);
  session.printError(requestText(asked));
  const answer = await waitForVerdict(session, found, { asked, timeoutMinutes: options.timeout });
  session.show(answer, verdictLines);
  if (answer.verdict !== 'sound' && answer.verdict !== 'unverifiable') session.setExitCode(1);
}

function requestText({ level, checkpoint: { name } }: CheckpointVerifyRequest): string {
  return `A pod in the cluster verifies ${name} at ${level}. \`coxswain checkpoint get ${name}\` shows the verdict.`;
}
