import { LEVELS, type Level, verifySave } from '@coxswain/checkpoint';
import { formatBytes } from '@coxswain/units';
import { type Command, Option } from 'commander';
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { CliError } from '../cli-error.ts';
import type { Session } from '../session/session.ts';
import { findingLines, type ReadSave, saveTable } from './checkpoint-tables.ts';
import { listFiles, readFrom } from './directory-files.ts';

/** Progress is shown for what takes longer. */
const QUIET_MS = 2000;

/** Adds `checkpoint show` and `checkpoint verify`, which read a save on this machine. No server is asked, and no engine is needed. */
export function addCheckpointCommands(program: Command, session: Session): void {
  const checkpoint = program
    .command('checkpoint')
    .description('read a checkpoint on this machine: what it holds, and whether it is good');
  checkpoint
    .command('show')
    .argument('<directory>', 'directory of one save, such as checkpoint/step-1000')
    .description('say what a save holds, from its metadata alone')
    .addHelpText('after', '\nExample:\n  coxswain checkpoint show outputs/checkpoint/step-1000')
    .action(async (directory: string) => {
      session.show(await look(session, directory, 'V1'), (found) => saveTable(found, 'V1'));
    });
  checkpoint
    .command('verify')
    .argument('<directory>', 'directory of one save, such as checkpoint/step-1000')
    .description(
      'say whether a save is good; the exit code is 1 if it is damaged, incomplete, suspect, or no save that can be read',
    )
    .addOption(new Option('--level <level>', LEVEL_HELP).choices(LEVELS).default('V3'))
    .addHelpText('after', '\nExample:\n  coxswain checkpoint verify outputs/checkpoint/step-1000 --level V2')
    .action(async (directory: string, { level }: { readonly level: Level }) => {
      const found = await look(session, directory, level);
      session.show(found, (each) => verdictText(each, level));
      // Nothing was looked at but names, or not even those: an empty folder must not pass for a good save.
      const isRead =
        found.state !== undefined &&
        !found.findings.some(({ level: of, kind }) => of === 'V0' && kind === 'unverifiable');
      if (!isRead || (found.verdict !== 'sound' && found.verdict !== 'unverifiable')) session.setExitCode(1);
    });
}

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

async function look(session: Session, directory: string, level: Level): Promise<ReadSave> {
  const kind = await stat(directory).catch(() => undefined);
  if (kind?.isDirectory() !== true)
    throw new CliError(`${directory} is no directory. Name the directory of one save, such as checkpoint/step-1000.`);
  const files = await listFiles(directory);
  const allBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let readBytes = 0;
  const tell = atMostEvery(session, QUIET_MS);
  const found = await readFrom(directory, verifySave(files, { level, crc32, sha256 }), (bytes) => {
    readBytes += bytes;
    tell(() => `${formatBytes(readBytes)} of ${formatBytes(allBytes)} read`);
  });
  return { ...found, readBytes };
}

function sha256(): { readonly update: (bytes: Uint8Array) => void; readonly hex: () => string } {
  const hash = createHash('sha256');
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
}

/** Prints a line on standard error if the last one is long enough ago. */
function atMostEvery(session: Session, intervalMs: number): (line: () => string) => void {
  let lastMs = session.now().getTime();
  return (line) => {
    const nowMs = session.now().getTime();
    if (nowMs - lastMs < intervalMs) return;
    lastMs = nowMs;
    session.printError(line());
  };
}
