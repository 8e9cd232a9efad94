import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { CliError } from './cli-error.ts';

/** What the configuration file may hold; `COXSWAIN_SERVER`, `COXSWAIN_TOKEN`, `COXSWAIN_PROJECT` and flags go before it. */
const ConfigFile = z.strictObject({
  server: z.url().optional(),
  token: z.string().min(1).optional(),
  tokenFile: z.string().min(1).optional(),
  project: z.string().min(1).optional(),
});
type ConfigFile = z.infer<typeof ConfigFile>;

export interface Settings {
  /** Base URL of the API, without a trailing slash. */
  readonly server: string;
  readonly token: string;
  /** Undefined when nowhere given: a token that belongs to one project knows its own. */
  readonly project: string | undefined;
}

export interface SettingsFlags {
  readonly server?: string;
  readonly tokenFile?: string;
  readonly project?: string;
  readonly config?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `--config`, else `COXSWAIN_CONFIG`, else `$XDG_CONFIG_HOME/coxswain/config.yaml`. */
export function configPath(flags: SettingsFlags, env: Environment): string {
  return (
    flags.config ??
    env['COXSWAIN_CONFIG'] ??
    join(env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'coxswain', 'config.yaml')
  );
}

/** Flags before environment before file. Throws a {@link CliError} that says where each missing value can be given. */
export function resolveSettings(flags: SettingsFlags, env: Environment): Settings {
  const path = configPath(flags, env);
  const file = readConfigFile(path, flags.config !== undefined || env['COXSWAIN_CONFIG'] !== undefined);
  const server = flags.server ?? env['COXSWAIN_SERVER'] ?? file.server;
  if (server === undefined)
    throw new CliError(`No server given. Use --server URL, COXSWAIN_SERVER, or "server:" in ${path}.`);
  if (!/^https?:\/\//.test(server))
    throw new CliError(`Server "${server}" is not a URL; it must start with http:// or https://.`);
  const tokenFile = flags.tokenFile ?? (env['COXSWAIN_TOKEN'] === undefined ? file.tokenFile : undefined);
  const token = tokenFile === undefined ? (env['COXSWAIN_TOKEN'] ?? file.token) : readToken(tokenFile);
  if (token === undefined)
    throw new CliError(`No token given. Use --token-file FILE, COXSWAIN_TOKEN, or "token:" in ${path}.`);
  return {
    server: server.replace(/\/+$/, ''),
    token,
    project: flags.project ?? env['COXSWAIN_PROJECT'] ?? file.project,
  };
}

function readConfigFile(path: string, mustExist: boolean): ConfigFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (!mustExist && (error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new CliError(`Cannot read the configuration file ${path}: ${(error as Error).message}`);
  }
  const parsed = ConfigFile.safeParse(parse(text) ?? {});
  if (parsed.success) return parsed.data;
  throw new CliError(`${path}: ${z.prettifyError(parsed.error)}`);
}

function readToken(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new CliError(`Cannot read the token file ${path}: ${(error as Error).message}`);
  }
}
