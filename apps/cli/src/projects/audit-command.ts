import type { AuditEntry } from '@coxswain/api-types';
import { type Command, Option } from 'commander';
import { type FittedColumn, fittedTable } from '../output/fitted-table.ts';
import { utcText } from '../output/output.ts';
import { paint } from '../output/paint.ts';
import type { Session } from '../session/session.ts';
import { instant, time } from '../options/time-option.ts';
import { wholeNumber } from '../options/whole-number.ts';

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
    .description('list the audit log: who did what, from where, and what was denied, newest first (administrators)')
    .option('--since <time>', 'entries at or after this time: 2030-01-31T00:00:00Z, or a time ago: 30m, 24h, 7d', time)
    .option('--until <time>', 'entries before this time', time)
    .option('--principal <name>', 'only entries of this principal')
    .option('--verb <verb>', 'only this verb, e.g. job.create; for a denial, the missing right')
    .option('--object <object>', 'only entries about this object, e.g. research/tiny-gpt')
    .addOption(new Option('--outcome <outcome>', 'only entries with this outcome').choices(['allowed', 'denied']))
    .option('--limit <count>', 'maximum number of entries', wholeNumber, 100)
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
      session.show(items, (shown) => auditTable(shown, session.widthColumns));
      if (isMore && session.outputFormat() === 'table')
        session.printError(`More entries exist; use --limit ${limit * 10}.`);
    });
}

const MAX_PAGE = 500;
const EXAMPLES = `
Examples:
  coxswain audit --since 24h --outcome denied
  coxswain audit --object research/tiny-gpt -o json
  coxswain audit --project -      # the whole cluster (its administrators)`;

const AUDIT_COLUMNS: readonly FittedColumn<AuditEntry>[] = [
  { title: 'TIME (UTC)', worth: 6, cell: ({ at }) => utcText(at) },
  { title: 'PRINCIPAL', worth: 8, cell: ({ principal }) => principal ?? '-' },
  { title: 'VERB', worth: 9, cell: ({ verb }) => verb },
  { title: 'OUTCOME', worth: 5, cell: outcomeCell },
  { title: 'OBJECT', worth: 7, cell: ({ object }) => object },
  { title: 'FROM', worth: 3, cell: ({ sourceAddress }) => sourceAddress ?? '-' },
  { title: 'REQUEST', worth: 2, cell: ({ requestId }) => requestId ?? '-' },
];

function auditTable(items: readonly AuditEntry[], widthColumns: number | undefined): string {
  if (items.length === 0) return 'No entries. What was done longer ago than the audit is kept is not there any more.';
  return fittedTable(AUDIT_COLUMNS, items, widthColumns);
}

function outcomeCell(entry: AuditEntry): string {
  if (entry.outcome === 'allowed') return 'allowed';
  return paint('held', `denied ${entry.reason ?? ''}${timesCell(entry)}`.trim());
}

function timesCell({ requests }: AuditEntry): string {
  return requests === 1 ? '' : ` (${requests} times)`;
}
