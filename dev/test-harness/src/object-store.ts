import { findBinary, startProcess } from '@coxswain/local-cluster';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An S3 server in memory with one empty bucket. It accepts every request, signed or not. */
export interface ObjectStore {
  readonly endpoint: string;
  readonly bucket: string;
  stop(): Promise<void>;
}

const START_MS = 20_000;

/** Starts gofakes3 (`tools/go/gofakes3`). */
export async function startObjectStore(): Promise<ObjectStore> {
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-objects-'));
  const logPath = join(directory, 'log');
  const address = (): string | undefined => /^127\.0\.0\.1:\d+$/m.exec(readFileSync(logPath, 'utf8'))?.[0];
  const server = await startProcess({
    name: 'gofakes3',
    command: await findBinary('gofakes3'),
    args: [],
    logPath,
    ready: { check: () => address() !== undefined, deadlineMs: START_MS },
  });
  return {
    endpoint: `http://${address() ?? ''}`,
    bucket: 'test',
    stop: async () => {
      await server.stop({ graceMs: 0 });
      rmSync(directory, { recursive: true });
    },
  };
}
