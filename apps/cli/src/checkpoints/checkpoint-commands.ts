import { LEVELS, type Level } from '@coxswain/checkpoint';
import { formatBytes } from '@coxswain/units';
import { type Command, Option } from 'commander';
import type { Session } from '../session/session.ts';
import { findingLines, type ReadSave, saveTable } from './checkpoint-tables.ts';
import { addLoadsCommand } from './loads-command.ts';
import { lookAtSave } from './look-at-save.ts';
import { addPruneCommand } from './prune-command.ts';
import { addReshardCommand } from './reshard-command.ts';
import { addStoreOptions, type StoreOptions } from './opened-store.ts';

/**
 * Adds `checkpoint show`, `verify`, `prune` and `reshard`, which read saves in a directory or a bucket, and `loads`, which reads a directory. No server is asked, and no
 * engine is needed.
 */
export function addCheckpointCommands(program: Command, session: Session): void {
  const checkpoint = program
    .command('checkpoint')
    .description('read checkpoints in a directory or a bucket: what they hold, whether they are good, which can go');
  addStoreOptions(checkpoint.command('show'))
    .argument('<location>', LOCATION_HELP)
    .description('say what a save holds, from its metadata alone')
    .addHelpText('after', '\nExample:\n  coxswain checkpoint show outputs/checkpoint/step-1000')
    .action(async (location: string, options: StoreOptions) => {
      session.show(await lookAtSave(session, location, { ...options, level: 'V1' }), (found) => saveTable(found, 'V1'));
    });
  addStoreOptions(checkpoint.command('verify'))
    .argument('<location>', LOCATION_HELP)
    .description(
      'say whether a save is good; the exit code is 1 if it is damaged, incomplete, suspect, or no save that can be read',
    )
    .addOption(new Option('--level <level>', LEVEL_HELP).choices(LEVELS).default('V3'))
    .addHelpText(
      'after',
      '\nExamples:\n  coxswain checkpoint verify outputs/checkpoint/step-1000 --level V2\n  AWS_ENDPOINT_URL=https://minio.example.com coxswain checkpoint verify s3://training/run-7/step-1000',
    )
    .action(async (location: string, options: StoreOptions & { readonly level: Level }) => {
      const { level } = options;
      const found = await lookAtSave(session, location, options);
      session.show(found, (each) => verdictText(each, level));
      // Nothing was looked at but names, or not even those: an empty folder must not pass for a good save.
      const isRead =
        found.state !== undefined &&
        !found.findings.some(({ level: of, kind }) => of === 'V0' && kind === 'unverifiable');
      if (!isRead || (found.verdict !== 'sound' && found.verdict !== 'unverifiable')) session.setExitCode(1);
    });
  addLoadsCommand(checkpoint, session, (directory) => lookAtSave(session, directory, { level: 'V1' }));
  addPruneCommand(checkpoint, session);
  addReshardCommand(checkpoint, session);
}

const LOCATION_HELP = 'directory of one save, such as checkpoint/step-1000, or s3://BUCKET/PREFIX';
const LEVEL_HELP = 'how closely: V0 marker and times, V1 structure, V2 the envelope of each item, V3 all bytes';

function verdictText(found: ReadSave, level: Level): string {
  const first = {
    sound: `Sound as far as ${level} sees`,
    damaged: 'Damaged',
    incomplete: 'Incomplete',
    suspect: 'Suspect',
    unverifiable: 'Its content cannot be verified',
  }[found.verdict];
  const lines = findingLines(found);
  return `${first}: format ${found.format ?? 'unknown'}, ${formatBytes(found.readBytes)} read.${lines === '' ? '' : `\n${lines}`}`;
}
