import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CliError } from '../cli-error.ts';
import { fileError } from '../files/file-error.ts';
import { wholeNumber } from '../options/whole-number.ts';
import type { Session } from '../session/session.ts';
import { LogText } from './log-text.ts';

interface LogsOptions {
  readonly rank?: number;
  readonly allRanks?: true;
  readonly attempt?: number;
  readonly tail?: number;
  readonly since?: Since;
  readonly grep?: string;
  readonly follow?: true;
  readonly raw?: true;
  readonly download?: string;
}

/** A time, given how late it is now. */
type Since = (now: Date) => Date;

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `logs`: of living pods, and of pods that are gone. */
export function addLogsCommand(program: Command, session: Session): void {
  program
    .command('logs <job>')
    .description(
      'print the log of the pod that runs a rank; if the pod is gone, what was kept of the log beside the checkpoints, else the last lines that the attempt recorded',
    )
    .addOption(new Option('--rank <rank>', 'global rank (default: 0)').argParser(wholeNumber).conflicts('allRanks'))
    .option('--all-ranks', 'the logs of all ranks')
    .option('--attempt <number>', 'attempt to read, as `coxswain get` lists them (default: the newest)', wholeNumber)
    .option('--tail <lines>', 'print only the last lines', wholeNumber)
    .option(
      '--since <time>',
      'print only lines since then: 90s, 15m, 2h, 3d or a time such as 2026-01-31T12:00:00Z',
      since,
    )
    .option('--grep <text>', 'print only lines that contain this text')
    .option('-f, --follow', 'keep printing as the log grows')
    .option('--raw', 'print the bytes unchanged, control sequences included')
    .addOption(
      new Option('--download <file>', 'write the bytes unchanged to a new file instead of printing them').conflicts([
        'raw',
      ]),
    )
    .action(async (name: string, options: LogsOptions) => {
      const { rank, allRanks, attempt, tail, grep, raw, download } = options;
      const project = await session.open();
      const { at } = await project.find(name);
      const log = await project.api.logs(at, {
        ...(allRanks === true ? { allRanks } : { rank: rank ?? 0 }),
        attempt,
        tailLines: tail,
        since: options.since?.(session.now()).toISOString(),
        grep,
        follow: options.follow === true,
      });
      if (download !== undefined) return await writeTo(download, log);
      const write = async (chunk: Uint8Array | string): Promise<void> => {
        if (!session.stdout.write(chunk)) await new Promise((resolve) => session.stdout.once('drain', resolve));
      };
      const text = new LogText();
      for await (const chunk of log) await write(raw === true ? chunk : text.push(chunk));
      await write(text.end());
    });
}

async function writeTo(file: string, log: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await pipeline(log, createWriteStream(file, { flags: 'wx' }));
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new CliError(`"${file}" exists already; name another file with --download.`);
    throw syscall === 'open' || syscall === 'write' ? fileError('write', file, error) : error;
  }
}

function since(text: string): Since {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return (now) => new Date(now.getTime() - Number(count) * (UNITS_MS[unit] ?? 0));
  const ms = /^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(ms))
    throw new InvalidArgumentError(`"${text}" is neither an age such as 15m nor a time such as 2026-01-31T12:00:00Z.`);
  return () => new Date(ms);
}
