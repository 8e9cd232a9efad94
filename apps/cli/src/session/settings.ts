import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { CliError } from '../cli-error.ts';
import { fileError } from '../files/file-error.ts';
import { problemsIn } from '../output/problems-in.ts';
import { signedInToken } from './credentials-file.ts';

/** What the configuration file may hold; `COXSWAIN_SERVER`, `COXSWAIN_TOKEN`, `COXSWAIN_TOKEN_FILE`, `COXSWAIN_PROJECT` and flags go before it. */
const ConfigFile = z.strictObject({
  server: z.url().optional(),
  token: z.string().min(1).optional(),
  tokenFile: z.string().min(1).optional(),
  project: z.string().min(1).optional(),
});
type ConfigFile = z.infer<typeof ConfigFile>;

/** Which API to call, as whom and for which project. */
export interface Settings {
  /** Base URL of the API, without a trailing slash. */
  readonly server: string;
  readonly token: string;
  /** Undefined when nowhere given: a token that belongs to one project knows its own. */
  readonly project: string | undefined;
}

/** Global options that override environment variables and the configuration file. */
export interface SettingsFlags {
  readonly server?: string;
  readonly tokenFile?: string;
  readonly project?: string;
  readonly config?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `--config`, else `COXSWAIN_CONFIG`, else `$XDG_CONFIG_HOME/coxswain/config.yaml`. */
export function configPath(flags: SettingsFlags, env: Environment): string {
  const home = given(env, 'XDG_CONFIG_HOME') ?? join(homedir(), '.config');
  return flags.config ?? given(env, 'COXSWAIN_CONFIG') ?? join(home, 'coxswain', 'config.yaml');
}

/** Flags override the environment, which overrides the file. Throws a {@link CliError} that lists where a missing value can be given. */
export function resolveSettings(flags: SettingsFlags, env: Environment, now: Date): Settings {
  const { server, file, path } = resolveServer(flags, env);
  const token = resolveToken(flags, env, file) ?? signedInToken(credentialsPath(flags, env), server, now);
  if (token === undefined)
    throw new CliError(
      `No token given. Sign in with \`coxswain login\`, or use --token-file FILE, COXSWAIN_TOKEN, COXSWAIN_TOKEN_FILE, or "token:" in ${path}.`,
    );
  return { server, token, project: flags.project ?? given(env, 'COXSWAIN_PROJECT') ?? file.project };
}

/** The file that `coxswain login` writes, beside the configuration file. */
export function credentialsPath(flags: SettingsFlags, env: Environment): string {
  return join(dirname(configPath(flags, env)), 'credentials.json');
}

/** Where the API is, for what needs no token. */
export function resolveServer(
  flags: SettingsFlags,
  env: Environment,
): { readonly server: string; readonly file: ConfigFile; readonly path: string } {
  const path = configPath(flags, env);
  const file = readConfigFile(path, (flags.config ?? given(env, 'COXSWAIN_CONFIG')) !== undefined);
  const server = flags.server ?? given(env, 'COXSWAIN_SERVER') ?? file.server;
  if (server === undefined)
    throw new CliError(`No server given. Use --server URL, COXSWAIN_SERVER, or "server:" in ${path}.`);
  if (!/^https?:\/\//.test(server) || !URL.canParse(server))
    throw new CliError(`Server "${server}" is not a URL; it must look like https://coxswain.example.com.`);
  return { server: server.replace(/\/+$/, ''), file, path };
}

/** A variable that is set to nothing counts as not set. */
function given(env: Environment, name: string): string | undefined {
  return env[name] === '' ? undefined : env[name];
}

function resolveToken(flags: SettingsFlags, env: Environment, file: ConfigFile): string | undefined {
  if (flags.tokenFile !== undefined) return readToken(flags.tokenFile);
  const token = given(env, 'COXSWAIN_TOKEN');
  if (token !== undefined) return token;
  const tokenFile = given(env, 'COXSWAIN_TOKEN_FILE');
  if (tokenFile !== undefined) return readToken(tokenFile);
  return file.tokenFile === undefined ? file.token : readToken(file.tokenFile);
}

function readConfigFile(path: string, mustExist: boolean): ConfigFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (!mustExist && (error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw fileError('read', `the configuration file ${path}`, error, path);
  }
  const parsed = ConfigFile.safeParse(yamlIn(text, path) ?? {}, { reportInput: true });
  if (parsed.success) return parsed.data;
  const problems = problemsIn(parsed.error, { schema: ConfigFile, whole: 'the file' });
  throw new CliError(`The configuration file ${path} is not valid:\n${problems.join('\n')}`);
}

function yamlIn(text: string, path: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new CliError(`The configuration file ${path} is not YAML: ${(error as Error).message}`);
  }
}

function readToken(path: string): string {
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw fileError('read', `the token file ${path}`, error, path);
  }
  if (token === '') throw new CliError(`The token file ${path} is empty.`);
  return token;
}
