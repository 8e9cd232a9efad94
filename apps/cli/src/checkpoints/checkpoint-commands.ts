import { LEVELS, type Level } from '@coxswain/checkpoint';
import { formatBytes } from '@coxswain/units';
import { type Command, Option } from 'commander';
import { addCatalogueCommands, type RemoteVerifyOptions, verifyCheckpoint } from './catalogue-commands.ts';
import { isCheckpointName } from './find-checkpoint.ts';
import type { Session } from '../session/session.ts';
import { findingLines, type ReadSave, saveTable, verdictWords } from './checkpoint-tables.ts';
import { addAdoptCommand } from './adopt-command.ts';
import { addConvertCommand } from './convert-command.ts';
import { addDiffCommand } from './diff-command.ts';
import { addExportCommand } from './export-command.ts';
import { addLoadsCommand } from './loads-command.ts';
import { lookAtSave } from './look-at-save.ts';
import { addPruneCommand } from './prune-command.ts';
import { addReshardCommand } from './reshard-command.ts';
import { addRetentionCommand } from './retention-command.ts';
import { wholeNumber } from '../options/whole-number.ts';
import { addStoreOptions, type StoreOptions } from './opened-store.ts';

/**
 * Adds the commands of `checkpoint`. Most read saves in a directory or a bucket: they ask no server and need no engine. `verify` with the name of a Checkpoint,
 * `list`, `get`, `pin`, `unpin`, `forget`, `retention` and `adopt` ask the server.
 */
export function addCheckpointCommands(program: Command, session: Session): void {
  const checkpoint = program
    .command('checkpoint')
    .description(
      'checkpoints in a directory, a bucket or the project: what they hold, whether they are good, which can go or stay',
    );
  addCatalogueCommands(checkpoint, session);
  addStoreOptions(checkpoint.command('show'))
    .argument('<location>', LOCATION_HELP)
    .description('say what a save holds, from its metadata alone')
    .addHelpText('after', '\nExample:\n  coxswain checkpoint show outputs/checkpoint/step-1000')
    .action(async (location: string, options: StoreOptions) => {
      session.show(await lookAtSave(session, location, { ...options, level: 'V1' }), (found) => saveTable(found, 'V1'));
    });
  addVerifyCommand(checkpoint, session);
  addLoadsCommand(checkpoint, session, (directory) => lookAtSave(session, directory, { level: 'V1' }));
  addPruneCommand(checkpoint, session);
  addRetentionCommand(checkpoint, session);
  addReshardCommand(checkpoint, session);
  addConvertCommand(checkpoint, session);
  addDiffCommand(checkpoint, session);
  addExportCommand(checkpoint, session);
  addAdoptCommand(checkpoint, session);
}

function addVerifyCommand(checkpoint: Command, session: Session): void {
  addStoreOptions(checkpoint.command('verify'))
    .argument('<location>', `${LOCATION_HELP}, or the name of a Checkpoint of the project`)
    .description(
      'say whether a save is good; the exit code is 1 if it is damaged, incomplete, suspect, or no save that can be read',
    )
    .addOption(new Option('--level <level>', LEVEL_HELP).choices(LEVELS).default('V3'))
    .option('-w, --wait', 'of a Checkpoint: return with the verdict of the pod that verifies it')
    .option('--timeout <minutes>', 'with --wait: give up waiting after this time', wholeNumber, 30)
    .addHelpText(
      'after',
      '\nExamples:\n  coxswain checkpoint verify outputs/checkpoint/step-1000 --level V2\n  AWS_ENDPOINT_URL=https://minio.example.com coxswain checkpoint verify s3://training/run-7/step-1000\n  coxswain checkpoint verify tiny-gpt-1a5e-d1ff3a84-e1-s40 --wait',
    )
    .action(async (location: string, options: StoreOptions & RemoteVerifyOptions) => {
      if (await isCheckpointName(location)) await verifyCheckpoint(session, location, options);
      else await verifyHere(session, location, options);
    });
}

async function verifyHere(
  session: Session,
  location: string,
  options: StoreOptions & Pick<RemoteVerifyOptions, 'level' | 'wait'>,
): Promise<void> {
  const { level } = options;
  const found = await lookAtSave(session, location, options);
  session.show(found, (each) => verdictText(each, level));
  // Nothing was looked at but names, or not even those: an empty folder must not pass for a good save.
  const isRead =
    found.state !== undefined && !found.findings.some(({ level: of, kind }) => of === 'V0' && kind === 'unverifiable');
  if (!isRead || (found.verdict !== 'sound' && found.verdict !== 'unverifiable')) session.setExitCode(1);
}

const LOCATION_HELP = 'directory of one save, such as checkpoint/step-1000, or s3://BUCKET/PREFIX';
const LEVEL_HELP = 'how closely: V0 marker and times, V1 structure, V2 the envelope of each item, V3 all bytes';

function verdictText(found: ReadSave, level: Level): string {
  const lines = findingLines(found);
  return `${verdictWords(found.verdict, level)}: format ${found.format ?? 'unknown'}, ${formatBytes(found.readBytes)} read.${lines === '' ? '' : `\n${lines}`}`;
}
