import { DEFAULT_OVERLAP_SECONDS, PROJECT_ROLES, type ApiToken, type ApiTokenCreated } from '@coxswain/api-types';
import { DAY_MS, formatDuration } from '@coxswain/units';
import { Option, type Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { columns } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { wholeNumber } from '../options/whole-number.ts';

interface ExpiryOptions {
  readonly days?: number;
  readonly neverExpires?: true;
}

/** Commands about the API tokens of a project: list, create, rotate, revoke. */
export function addTokenCommands(program: Command, session: Session): void {
  const token = program.command('token').description('manage API tokens of a project (project administrators)');

  token
    .command('list')
    .description('list valid tokens, and those that expired in the last week; secrets are never shown')
    .action(async () => {
      const { api, project } = await session.open();
      const { items } = await api.tokens(project);
      session.show(items, (shown) => tokenTable(shown, session.now()));
    });

  withExpiry(token.command('create <name>'))
    .description('create a token, and print it this once')
    .addOption(new Option('--role <role>', 'role of the token').choices(PROJECT_ROLES).default('operator'))
    .addHelpText('after', '\nExample:\n  coxswain token create ci --role operator --days 30 > ci-token')
    .action(async (name: string, options: ExpiryOptions & { readonly role: ApiToken['role'] }) => {
      const { api, project } = await session.open();
      showCreated(session, await api.createToken(project, { name, role: options.role, ...expiry(options, session) }));
    });

  withExpiry(token.command('rotate <token>'))
    .description(
      'create a successor of a token and print it; the old token stays valid for a while; takes its name or id',
    )
    .option(
      '--overlap-hours <hours>',
      'how long the old token stays valid',
      wholeNumber,
      DEFAULT_OVERLAP_SECONDS / 3_600,
    )
    .action(async (nameOrId: string, options: ExpiryOptions & { readonly overlapHours: number }) => {
      const { api, project } = await session.open();
      const { id } = newestToken(goodTokens((await api.tokens(project)).items, session.now()), nameOrId);
      const request = { overlapSeconds: options.overlapHours * 3_600, ...expiry(options, session) };
      showCreated(session, await api.rotateToken({ project, id }, request));
    });

  token
    .command('revoke <token>')
    .description('revoke a token; takes effect everywhere within seconds; takes its name or id')
    .action(async (nameOrId: string) => {
      const { api, project } = await session.open();
      const { id, name } = onlyToken(goodTokens((await api.tokens(project)).items, session.now()), nameOrId);
      await api.revokeToken({ project, id });
      session.print(`Revoked ${name} (${id}).`);
    });
}

function withExpiry(command: Command): Command {
  return command
    .option('--days <count>', 'days until it expires (default: set by the installation, usually 90)', wholeNumber)
    .addOption(new Option('--never-expires', 'the token is valid until it is revoked').conflicts('days'));
}

function expiry({ days, neverExpires }: ExpiryOptions, session: Session): { expiresAt?: string; neverExpires?: true } {
  if (neverExpires === true) return { neverExpires };
  if (days === undefined) return {};
  return { expiresAt: new Date(session.now().getTime() + days * DAY_MS).toISOString() };
}

/** The token alone where its like is read by programs or put into a file; what is to be known of it beside that. */
function showCreated(session: Session, created: ApiTokenCreated): void {
  session.show(created, () => created.token);
  if (session.outputFormat() !== 'table') return;
  const end = created.expiresAt === null ? 'never expires' : `expires ${created.expiresAt.slice(0, 16)}Z`;
  session.printError(`Token ${created.name} (${created.role}) ${end}. It is shown this once: keep it now.`);
}

function goodTokens(items: readonly ApiToken[], now: Date): readonly ApiToken[] {
  return items.filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > now.getTime());
}

/** The token of that id, or of that name: the newest in a row of rotated ones. */
function newestToken(items: readonly ApiToken[], nameOrId: string): ApiToken {
  const rotated = new Set(items.map(({ rotatedFrom }) => rotatedFrom));
  const newest = items.filter((item) => item.id === nameOrId || !rotated.has(item.id));
  return onlyToken(newest, nameOrId);
}

function onlyToken(items: readonly ApiToken[], nameOrId: string): ApiToken {
  const found = items.filter(({ id, name }) => id === nameOrId || name === nameOrId);
  const [only, ...others] = found;
  if (only === undefined)
    throw new CliError(`No token "${nameOrId}". \`coxswain token list\` lists the existing ones.`);
  if (others.length === 0) return only;
  throw new CliError(`${found.length} tokens are named "${nameOrId}": give an id, ${idsOf(found)}.`);
}

function idsOf(tokens: readonly ApiToken[]): string {
  return tokens.map(({ id, createdAt }) => `${id} (made ${createdAt.slice(0, 10)})`).join(' or ');
}

function tokenTable(items: readonly ApiToken[], now: Date): string {
  if (items.length === 0) return 'No tokens. `coxswain token create NAME` makes one.';
  const rotated = new Set(items.map(({ rotatedFrom }) => rotatedFrom));
  const rows = items.map((item) => [
    item.name,
    item.role,
    expiryCell(item, now),
    item.lastUsedAt === null ? 'never' : `${item.lastUsedAt.slice(0, 16).replace('T', ' ')}`,
    rotated.has(item.id) ? 'rotated' : '',
    item.id,
  ]);
  return columns([['NAME', 'ROLE', 'EXPIRES', 'LAST USED (UTC)', '', 'ID'], ...rows]);
}

function expiryCell({ expiresAt }: ApiToken, now: Date): string {
  if (expiresAt === null) return 'never';
  const leftMs = Date.parse(expiresAt) - now.getTime();
  return leftMs > 0 ? `in ${formatDuration(leftMs)}` : 'expired';
}
