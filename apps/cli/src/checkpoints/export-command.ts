import { exportSave as copyToStore } from '@coxswain/checkpoint-store';
import { formatBytes, formatCount } from '@coxswain/units';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import type { Session } from '../session/session.ts';
import { progressOf, verifyFiles } from './look-at-save.ts';
import { addStoreOptions, openAndList, openTarget, type StoreOptions, withStoreErrors } from './opened-store.ts';

const LOCATION = 'the directory of one save, such as checkpoint/step-1000';

/** Adds `checkpoint export`. */
export function addExportCommand(checkpoint: Command, session: Session): void {
  addStoreOptions(checkpoint.command('export'))
    .argument('<save>', `${LOCATION}, or s3://BUCKET/PREFIX`)
    .argument('<place>', 'an empty directory, or s3://BUCKET/PREFIX')
    .description(
      'copy a save to another place. All bytes of the copy are verified (V3) before its marker files are written. Run it again to go on after an interruption',
    )
    .addHelpText('after', '\nExample:\n  coxswain checkpoint export run-7/step-1000 s3://training/run-7/step-1000')
    .action(async (save: string, place: string, options: StoreOptions) => {
      const done = await withStoreErrors(() => exportSave(session, save, place, options));
      session.show(done, ({ copied, present, bytes, verdict }) => {
        const checked = verdict === 'sound' ? 'all bytes verified' : 'its content has no checksums to verify';
        const before = present === 0 ? '' : `, ${present} were there`;
        return `${formatCount(copied, 'file')} copied to ${place}${before}; ${formatBytes(bytes)}, ${checked}.`;
      });
    });
}

async function exportSave(session: Session, save: string, place: string, options: StoreOptions) {
  const { store: from, files } = await openAndList(session, save, options, LOCATION);
  const to = await openTarget(session, place, options);
  const { add: onBytes } = progressOf(session, files);
  let verdict = 'sound';
  const counts = await copyToStore({
    from,
    files,
    to,
    onBytes,
    signal: session.signal,
    verify: async (store) => {
      const look = await verifyFiles(session, store, files, { level: 'V3', onBytes });
      ({ verdict } = look);
      if (look.state !== undefined && (verdict === 'sound' || verdict === 'unverifiable')) return;
      const why = look.findings[0]?.sentence ?? 'no reader knows its format.';
      throw new CliError(
        `${save} is not exported, because it is ${verdict}: ${why} Its copy in ${place} has no marker files; delete it.`,
      );
    },
  });
  return { ...counts, bytes: files.reduce((sum, file) => sum + file.bytes, 0), verdict };
}
