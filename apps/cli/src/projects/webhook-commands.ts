import {
  DEFAULT_OVERLAP_SECONDS,
  type Webhook,
  WEBHOOK_EVENTS,
  type WebhookCreated,
  type WebhookDelivery,
  type WebhookEvent,
} from '@coxswain/api-types';
import { type Command, Option } from 'commander';
import { CliError } from '../cli-error.ts';
import { columns, utcText } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { wholeNumber } from '../options/whole-number.ts';

const EVENT_NAMES = Object.keys(WEBHOOK_EVENTS) as WebhookEvent[];

/** Adds the commands for webhooks: endpoints that receive events of a project's jobs. */
export function addWebhookCommands(program: Command, session: Session): void {
  const webhooks = program
    .command('webhooks')
    .description("manage endpoints that receive events of a project's jobs (project administrators)");
  addLookingCommands(webhooks, session);
  addChangingCommands(webhooks, session);
}

function addLookingCommands(webhooks: Command, session: Session): void {
  webhooks
    .command('list')
    .description('list endpoints and their state, newest first; secrets are never shown')
    .action(async () => {
      const { api, project } = await session.open();
      session.show((await api.webhooks(project)).items, webhookTable);
    });

  webhooks
    .command('deliveries <webhook>')
    .description('list the deliveries to an endpoint and their results, newest first; takes its id or URL')
    .action(async (idOrUrl: string) => {
      const { api, at } = await found(session, idOrUrl);
      session.show((await api.webhookDeliveries(at)).items, deliveryTable);
    });

  webhooks
    .command('test <webhook>')
    .description('send a test message to an endpoint; takes its id or URL')
    .action(async (idOrUrl: string) => {
      const { api, at } = await found(session, idOrUrl);
      const { id } = await api.testWebhook(at);
      session.print(`Queued ${id}. \`coxswain webhooks deliveries ${at.id}\` shows the result.`);
    });
}

function addChangingCommands(webhooks: Command, session: Session): void {
  webhooks
    .command('add <url>')
    .description('add an endpoint (https URL, or mailto: and a mail address), and print its signing secret this once')
    .addOption(new Option('--event <events...>', 'events to send (default: all)').choices(EVENT_NAMES))
    .option('--slack', 'write messages for an incoming webhook of Slack: sentences instead of JSON')
    .addHelpText('after', `\nEvents:\n${eventLines()}`)
    .action(async (url: string, { event, slack }: { readonly event?: WebhookEvent[]; readonly slack?: true }) => {
      const { api, project } = await session.open();
      const request = {
        url,
        ...(event === undefined ? {} : { events: event }),
        ...(slack === true ? { form: 'Slack' as const } : {}),
      };
      showSecret(session, await api.createWebhook(project, request));
    });

  webhooks
    .command('rotate <webhook>')
    .description(
      'create another signing secret and print it; for a while messages also carry the signature of the old one',
    )
    .option(
      '--overlap-hours <hours>',
      'how long the old secret stays valid',
      wholeNumber,
      DEFAULT_OVERLAP_SECONDS / 3_600,
    )
    .action(async (idOrUrl: string, { overlapHours }: { readonly overlapHours: number }) => {
      const { api, at } = await found(session, idOrUrl);
      showSecret(session, await api.rotateWebhook(at, { overlapSeconds: overlapHours * 3_600 }));
    });

  webhooks
    .command('enable <webhook>')
    .description('enable a disabled endpoint again')
    .action(async (idOrUrl: string) => {
      const { api, at } = await found(session, idOrUrl);
      const { url, waiting } = await api.enableWebhook(at);
      session.print(`Enabled ${url}; ${waiting} messages are waiting.`);
    });

  webhooks
    .command('remove <webhook>')
    .description('remove an endpoint and its waiting messages; takes its id or URL')
    .action(async (idOrUrl: string) => {
      const { api, at, url } = await found(session, idOrUrl);
      await api.removeWebhook(at);
      session.print(`Removed ${url} (${at.id}).`);
    });
}

/** The endpoint of that id or URL. */
async function found(session: Session, idOrUrl: string) {
  const { api, project } = await session.open();
  const matching = (await api.webhooks(project)).items.filter(({ id, url }) => id === idOrUrl || url === idOrUrl);
  const [only, ...others] = matching;
  if (only === undefined)
    throw new CliError(`No webhook "${idOrUrl}". \`coxswain webhooks list\` lists the existing ones.`);
  if (others.length > 0)
    throw new CliError(
      `${matching.length} webhooks have that URL: give an id, ${matching.map(({ id }) => id).join(' or ')}.`,
    );
  return { api, at: { project, id: only.id }, url: only.url };
}

/** The secret alone where its like is read by programs or put into a file; what is to be known of it beside that. */
function showSecret(session: Session, created: WebhookCreated): void {
  session.show(created, () => created.secret);
  if (session.outputFormat() !== 'table') return;
  session.printError(`Webhook ${created.id} to ${created.url}. Its secret is shown this once: keep it now.`);
}

function eventLines(): string {
  return columns(Object.entries(WEBHOOK_EVENTS).map(([name, meaning]) => [`  ${name}`, meaning]));
}

function webhookTable(items: readonly Webhook[]): string {
  if (items.length === 0) return 'No webhooks. `coxswain webhooks add URL` adds one.';
  const rows = items.map((one) => [one.id, one.url, stateCell(one), one.form, `${one.waiting}`, one.events.join(' ')]);
  const table = columns([['ID', 'URL', 'STATE', 'FORM', 'WAITING', 'EVENTS'], ...rows]);
  const notes = items.flatMap(notesOf);
  return notes.length === 0 ? table : `${table}\n\n${notes.join('\n')}`;
}

function stateCell({ state, failures }: Webhook): string {
  return state === 'active' && failures > 0 ? `failing (${failures})` : state;
}

function notesOf({ url, disabledReason, leftOut }: Webhook): readonly string[] {
  return [
    ...(disabledReason === null ? [] : [`${url} is disabled. ${disabledReason}`]),
    ...(leftOut === 0 ? [] : [`${leftOut} messages to ${url} were left out, because too many waited.`]),
  ];
}

function deliveryTable(items: readonly WebhookDelivery[]): string {
  if (items.length === 0) return 'Nothing was sent to it yet.';
  const rows = items.map((one) => [
    utcText(one.createdAt),
    one.event,
    one.state,
    `${one.attempts}`,
    one.lastOutcome ?? '-',
    one.nextAttemptAt === null ? '-' : utcText(one.nextAttemptAt),
    one.id,
  ]);
  return columns([['MADE (UTC)', 'EVENT', 'STATE', 'ATTEMPTS', 'LAST', 'NEXT (UTC)', 'ID'], ...rows]);
}
