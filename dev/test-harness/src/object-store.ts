import { findBinary, freePort, startProcess } from '@coxswain/local-cluster';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from './temporary-directory.ts';

/** An S3 server with one empty bucket, for the key `key` with the secret `secret`. */
export interface ObjectStore {
  readonly endpoint: string;
  readonly bucket: string;
  stop(): Promise<void>;
}

/** The variable that names the server: gofakes3, or versitygw, which checks signatures and takes minutes to build. */
export const OBJECT_STORE_VARIABLE = 'COXSWAIN_OBJECT_STORE';

const START_MS = 20_000;
const BUCKET = 'test';

/** Starts the S3 server that {@link OBJECT_STORE_VARIABLE} names; gofakes3 by default, which keeps all in memory and checks no signature. */
export async function startObjectStore(): Promise<ObjectStore> {
  const directory = temporaryDirectory('objects');
  const logPath = join(directory, 'log');
  const address = (): string | undefined => /127\.0\.0\.1:\d+/.exec(readFileSync(logPath, 'utf8'))?.[0];
  const server = await startProcess({
    ...(process.env[OBJECT_STORE_VARIABLE] === 'versitygw' ? await versitygw(directory) : await gofakes3()),
    logPath,
    ready: { check: () => address() !== undefined, deadlineMs: START_MS },
  });
  return {
    endpoint: `http://${address() ?? ''}`,
    bucket: BUCKET,
    stop: async () => {
      await server.stop({ graceMs: 0 });
      rmSync(directory, { recursive: true });
    },
  };
}

type Program = Pick<Parameters<typeof startProcess>[0], 'name' | 'command' | 'args' | 'env'>;

async function gofakes3(): Promise<Program> {
  return { name: 'gofakes3', command: await findBinary('gofakes3'), args: [] };
}

/** Buckets of versitygw are folders. */
async function versitygw(directory: string): Promise<Program> {
  const data = join(directory, 'data');
  mkdirSync(join(data, BUCKET), { recursive: true });
  return {
    name: 'versitygw',
    command: await findBinary('versitygw'),
    args: ['--port', `127.0.0.1:${String(await freePort())}`, '--region', 'us-east-1', 'posix', data],
    env: { PATH: process.env['PATH'], HOME: directory, ROOT_ACCESS_KEY: 'key', ROOT_SECRET_KEY: 'secret' },
  };
}
