import type { AuditEntry } from '@coxswain/api-types';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@coxswain/units';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { columns } from './output.ts';
import type { Session } from './session.ts';
import { wholeNumber } from './whole-number.ts';

interface AuditOptions {
  readonly since?: string;
  readonly until?: string;
  readonly principal?: string;
  readonly verb?: string;
  readonly object?: string;
  readonly outcome?: AuditEntry['outcome'];
  readonly limit: number;
}

/** The command that shows who did what. */
export function addAuditCommand(program: Command, session: Session): void {
  program
    .command('audit')
    .description('who did what from where, and what was refused, newest first (administrators)')
    .option(
      '--since <time>',
      'entries of this time and later: 2030-01-31T00:00:00Z, or so long ago: 30m, 24h, 7d',
      time,
    )
    .option('--until <time>', 'entries before this time', time)
    .option('--principal <name>', 'only of this principal')
    .option('--verb <verb>', 'only this, e.g. job.create; of a denial the right that was missing')
    .option('--object <object>', 'only about this, e.g. research/tiny-gpt')
    .addOption(new Option('--outcome <outcome>', 'only these').choices(['allowed', 'denied']))
    .option('--limit <count>', 'at most so many entries', wholeNumber, 100)
    .addHelpText('after', EXAMPLES)
    .action(async ({ limit, since, until, ...filters }: AuditOptions) => {
      const { api, project } = await session.open();
      const query = { ...filters, since: instant(since, session.now()), until: instant(until, session.now()) };
      const items: AuditEntry[] = [];
      let isMore = false;
      for await (const entry of api.audit(project, { ...query, pageSize: Math.min(MAX_PAGE, Math.max(1, limit)) })) {
        isMore = items.length >= limit;
        if (isMore) break;
        items.push(entry);
      }
      session.show(items, auditTable);
      if (isMore && session.outputFormat() === 'table') session.printError(`There is more: --limit ${limit * 10}.`);
    });
}

const MAX_PAGE = 500;
const EXAMPLES = `
Examples:
  coxswain audit --since 24h --outcome denied
  coxswain audit --object research/tiny-gpt -o json
  coxswain audit --project -      # the whole cluster (its administrators)`;

const UNITS_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };
/** JavaScript would take a mere 5 for May 2001. */
const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}/;
const AGO = /^([0-9]{1,6})([mhd])$/;

/** Commander prints the option's name before the sentence. */
function time(text: string): string {
  if (AGO.test(text) || (DATE.test(text) && !Number.isNaN(Date.parse(text)))) return text;
  throw new InvalidArgumentError(
    `"${text}" is no time; write 2030-01-31T00:00:00Z, or 30m, 24h or 7d for so long ago.`,
  );
}

function instant(text: string | undefined, now: Date): string | undefined {
  if (text === undefined) return undefined;
  const [, count = '', unit = ''] = AGO.exec(text) ?? [];
  return count === ''
    ? new Date(text).toISOString()
    : new Date(now.getTime() - Number(count) * (UNITS_MS[unit] ?? 0)).toISOString();
}

function auditTable(items: readonly AuditEntry[]): string {
  if (items.length === 0) return 'No entries. What was done longer ago than the audit is kept is not there any more.';
  const rows = items.map((entry) => [
    entry.at.slice(0, 19).replace('T', ' '),
    entry.principal ?? '-',
    entry.verb,
    entry.outcome === 'allowed' ? 'allowed' : `denied ${entry.reason ?? ''}${timesCell(entry)}`.trim(),
    entry.object,
    entry.sourceAddress ?? '-',
    entry.requestId ?? '-',
  ]);
  return columns([['TIME (UTC)', 'PRINCIPAL', 'VERB', 'OUTCOME', 'OBJECT', 'FROM', 'REQUEST'], ...rows]);
}

function timesCell({ requests }: AuditEntry): string {
  return requests === 1 ? '' : ` (${requests} times)`;
}
