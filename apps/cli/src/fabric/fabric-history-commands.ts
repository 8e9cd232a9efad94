import type { FabricChange, FabricChanges, FabricSnapshot } from '@coxswain/api-types';
import { changeSentence, formatFactChange } from '@coxswain/fabric';
import { formatCount } from '@coxswain/units';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { columns, utcText } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { instant, time } from '../options/time-option.ts';
import { wholeNumber } from '../options/whole-number.ts';

interface HistoryOptions {
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
}

interface ChangesOptions {
  readonly from?: string;
  readonly to?: string;
}

const MAX_PAGE = 500;
/** How a time is written. */
export const TIME_FORM = '2030-01-31T00:00:00Z, or so long ago: 30m, 24h, 7d';

/** What the server recorded of the fabric of its cluster. */
export function addFabricHistoryCommands(fabric: Command, session: Session): void {
  fabric
    .command('history')
    .description('list when the fabric of the server’s cluster changed, newest first (administrators)')
    .option('--since <time>', `changes at or after this time: ${TIME_FORM}`, time)
    .option('--until <time>', 'changes at or before this time', time)
    .option('--limit <count>', `maximum number of changes, up to ${MAX_PAGE}`, wholeNumber, 50)
    .addHelpText('after', HISTORY_EXAMPLES)
    .action(async ({ limit, since, until }: HistoryOptions) => {
      const { items } = await session.connect().fabricSnapshots({
        since: instant(since, session.now()),
        until: instant(until, session.now()),
        pageSize: Math.min(MAX_PAGE, Math.max(1, limit)),
      });
      session.show(items, historyTable);
    });
  fabric
    .command('changes')
    .description(
      'show what changed in the fabric of the server’s cluster: the last change, or between two times (administrators)',
    )
    .option('--from <time>', `start of the comparison: ${TIME_FORM} (default: before the last change up to --to)`, time)
    .option('--to <time>', 'end of the comparison (default: now)', time)
    .addHelpText('after', CHANGES_EXAMPLES)
    .action(async ({ from, to }: ChangesOptions) => {
      const after = await snapshotAt(session, to ?? session.now().toISOString());
      const before = from === undefined ? undefined : await snapshotAt(session, from);
      session.show(await session.connect().fabricChanges(after.id, before?.id), changesText);
    });
}

/** The newest one of that time and before. Throws a {@link CliError} where there is none. */
export async function snapshotAt(session: Session, at: string): Promise<FabricSnapshot> {
  const until = instant(at, session.now());
  const { items } = await session.connect().fabricSnapshots({ until, pageSize: 1 });
  const [snapshot] = items;
  if (snapshot !== undefined) return snapshot;
  throw new CliError(
    `The server recorded no fabric at ${utcText(until)} UTC; \`coxswain fabric history\` lists the recorded times.`,
  );
}

/** The line above the table of a recorded fabric. */
export function snapshotLine({ takenAt, seenUntil }: FabricSnapshot): string {
  return `Recorded at ${utcText(takenAt)} UTC, unchanged until ${utcText(seenUntil)} UTC.`;
}

const HISTORY_EXAMPLES = `
Examples:
  coxswain fabric history --since 7d
  coxswain fabric show --at 2030-01-31T12:00:00Z      # how it was then`;

const CHANGES_EXAMPLES = `
Examples:
  coxswain fabric changes                             # the last change
  coxswain fabric changes --from 7d                   # since a week ago
  coxswain fabric changes --from 48h --to 24h -o json`;

function historyTable(items: readonly FabricSnapshot[]): string {
  if (items.length === 0) return 'The server recorded no change of the fabric in that time.';
  const rows = items.map((one) => [
    utcText(one.takenAt),
    utcText(one.seenUntil),
    ...[one.nodes, one.gpus, one.islands, one.nvlinkDomains].map(String),
    ...[one.changes?.came, one.changes?.gone, one.changes?.changed].map((count) => String(count ?? '-')),
    one.unrecordedLooks === 0 ? '' : `${formatCount(one.unrecordedLooks, 'earlier observation')} not recorded`,
  ]);
  return columns([
    ['TAKEN (UTC)', 'SEEN UNTIL', 'NODES', 'GPUS', 'ISLANDS', 'NVLINK', 'CAME', 'GONE', 'CHANGED', 'NOTE'],
    ...rows,
  ]);
}

function changesText({ before, after, came, gone, changed, changes, hasMore }: FabricChanges): string {
  const since = before === null ? 'no earlier record' : `since ${utcText(before.takenAt)} UTC`;
  const head = `${utcText(after.takenAt)} UTC, ${since}: ${formatCount(came, 'node')} came, ${gone} went, ${changed} changed.`;
  const more = hasMore ? ['The list of changes is not complete.'] : [];
  return [head, ...changes.map(changeText), ...more].join('\n\n');
}

function changeText({ facts, ...change }: FabricChange): string {
  const rows = facts.map(({ fact, ...values }) => [`  ${fact}`, formatFactChange(change.kind, values, '->')]);
  return [changeSentence(change), columns(rows)].filter((part) => part !== '').join('\n');
}
