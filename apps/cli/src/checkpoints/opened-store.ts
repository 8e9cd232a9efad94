import type { StoredFile } from '@coxswain/checkpoint';
import { type CheckpointStore, openStore, StoreError } from '@coxswain/checkpoint-store';
import type { Command } from 'commander';
import { mkdir, stat } from 'node:fs/promises';
import { CliError } from '../cli-error.ts';
import type { Session } from '../session/session.ts';

/** How a bucket is reached. The rest is in variables of the environment, as for other programs that use S3. */
export interface StoreOptions {
  readonly region?: string;
}

const STORE_HELP =
  '\nA bucket is read with the credentials that other AWS programs use: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role.\nAWS_ENDPOINT_URL is the address of a store that is not AWS.';

/** Adds the options of commands that read a directory or a bucket. */
export function addStoreOptions(command: Command): Command {
  return command.option('--region <name>', 'region of the bucket (AWS_REGION)').addHelpText('after', STORE_HELP);
}

/** A store and the files in it. */
export interface OpenedStore {
  readonly store: CheckpointStore;
  readonly files: readonly StoredFile[];
}

/** Opens the store at `location`: a directory, which may not exist, or a bucket. */
export async function openLocation(
  { env }: Session,
  location: string,
  { region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] }: StoreOptions,
): Promise<CheckpointStore> {
  return await openStore(location, { region, endpoint: env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL'] });
}

/** Opens a place to write to. A directory is made if it does not exist. */
export async function openTarget(session: Session, location: string, options: StoreOptions): Promise<CheckpointStore> {
  const store = await openLocation(session, location, options);
  if (!store.isRemote) {
    await mkdir(location, { recursive: true }).catch((error: unknown) => {
      throw new CliError(`${location} cannot be made: ${error instanceof Error ? error.message : String(error)}`);
    });
  }
  return store;
}

/** Opens the store at `location` and lists it. `what`: what the location has to be, with an example. */
export async function openAndList(
  session: Session,
  location: string,
  options: StoreOptions,
  what: string,
): Promise<OpenedStore> {
  const store = await openLocation(session, location, options);
  if (!store.isRemote && (await stat(location).catch(() => undefined))?.isDirectory() !== true)
    throw new CliError(`${location} is no directory. Name ${what}.`);
  const files = await store.list();
  if (store.isRemote && files.length === 0) throw new CliError(`${location} holds no object. Name ${what}.`);
  return { store, files };
}

/** Runs work on a store. What the store cannot do is an error that the user can fix. */
export async function withStoreErrors<Done>(work: () => Promise<Done>): Promise<Done> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreError) throw new CliError(error.message, error.kind === 'Unreachable' ? 2 : 1);
    throw error;
  }
}
