import { meaningOf } from '@coxswain/api-client';
import {
  INCIDENT_ACTIONS,
  INCIDENT_KINDS,
  INCIDENT_OUTCOMES,
  type IncidentKind,
  incidentSubject,
  incidentWords,
  type JobIncident,
  operationWords,
} from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';
import { type Command, Option } from 'commander';
import { type FittedColumn, fittedTable } from '../output/fitted-table.ts';
import { utcText } from '../output/output.ts';
import { paint } from '../output/paint.ts';
import type { Session } from '../session/session.ts';
import { wholeNumber } from '../options/whole-number.ts';

interface IncidentOptions {
  readonly kind?: IncidentKind;
  readonly state?: 'open' | 'over';
  readonly node?: string;
  readonly limit: number;
}

const MAX_LIMIT = 500;

/** `coxswain incidents` */
export function addIncidentsCommand(program: Command, session: Session): void {
  program
    .command('incidents [job]')
    .description('list incidents, newest first: of one job with their evidence, or of all jobs of the project')
    .addOption(new Option('--kind <kind>', 'only incidents of this kind').choices(Object.keys(INCIDENT_KINDS)))
    .addOption(new Option('--state <state>', 'only incidents in this state').choices(['open', 'over']))
    .option('--node <node>', 'only incidents on this node')
    .option('--limit <count>', `maximum number of incidents, up to ${MAX_LIMIT}`, wholeNumber, 50)
    .action(async (name: string | undefined, { limit, ...filters }: IncidentOptions) => {
      const project = await session.open();
      const query = { ...filters, pageSize: Math.min(MAX_LIMIT, Math.max(1, limit)) };
      const of = name === undefined ? { project: project.project } : (await project.find(name)).at;
      const { items } = await project.api.incidents(of, query);
      session.show(items, (shown) =>
        name === undefined ? incidentTable(shown, session.widthColumns) : incidentText(shown),
      );
    });
}

const INCIDENT_COLUMNS: readonly FittedColumn<JobIncident>[] = [
  { title: 'NOTICED (UTC)', worth: 5, cell: ({ noticedAt }) => utcText(noticedAt) },
  { title: 'JOB', worth: 8, cell: ({ job }) => job },
  { title: 'WHAT', worth: 9, cell: ({ kind }) => incidentWords(kind) },
  { title: 'RANK', worth: 3, cell: ({ rank }) => (rank === undefined ? '-' : `${rank}`) },
  { title: 'NODE', worth: 6, cell: ({ node }) => node ?? '-' },
  { title: 'ACTION', worth: 4, cell: ({ action }) => incidentWords(action) },
  {
    title: 'OUTCOME',
    worth: 7,
    cell: ({ outcome }) => (outcome === undefined ? paint('held', 'open') : incidentWords(outcome)),
  },
  { title: 'LOST', worth: 2, cell: (incident) => lostOf(incident) ?? '-' },
];

function incidentTable(items: readonly JobIncident[], widthColumns: number | undefined): string {
  return items.length === 0 ? 'No incidents.' : fittedTable(INCIDENT_COLUMNS, items, widthColumns);
}

function incidentText(items: readonly JobIncident[]): string {
  if (items.length === 0) return 'No incidents.';
  return items.map((one) => paragraph(one).join('\n')).join('\n\n');
}

function paragraph(incident: JobIncident): readonly string[] {
  const { id, noticedAt, message, action, outcome, evidence = [], operations = [] } = incident;
  const lost = lostOf(incident);
  const cameOf = outcome === undefined ? 'It is not over.' : meaningOf(INCIDENT_OUTCOMES, outcome);
  return [
    `${utcText(noticedAt)}  ${incidentSubject(incident)}  [${id}]`,
    `  Seen:     ${message}`,
    `  Done:     ${meaningOf(INCIDENT_ACTIONS, action)}`,
    `  Came of:  ${cameOf}${lost === undefined ? '' : ` Lost: ${lost}.`}`,
    ...operations.map((one) => `  Last:     ${operationWords(one)}, for ${formatDuration(one.forMs)}`),
    ...(evidence.length === 0
      ? []
      : [`  Evidence: ${evidence.map(({ name, value }) => `${name} ${value}`).join(', ')}`]),
  ];
}

function lostOf({ lostMs, redoneSteps = 0 }: JobIncident): string | undefined {
  if (lostMs === undefined) return undefined;
  const again = redoneSteps === 0 ? '' : ` (${redoneSteps} steps again)`;
  return `${formatDuration(lostMs)}${again}`;
}
