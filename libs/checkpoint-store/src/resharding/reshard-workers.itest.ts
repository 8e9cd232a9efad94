/** Workers that reshard a save of a bucket together, as processes of their own, against a real object store: one of them is killed. */
import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { verifySave } from '@coxswain/checkpoint';
import { type ObjectStore, startObjectStore } from '@coxswain/test-harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { openStore } from '../open-store.ts';
import { runReading } from '../reading/run-reading.ts';
import type { ReshardOutcome } from './run-reshard.ts';

const FIXTURE = join(import.meta.dirname, '../../../checkpoint/fixtures/dcp-2.15.0');
const WORKER = join(import.meta.dirname, '../testing/reshard-worker.ts');
const SOURCE = 's3://test/save';

let objects: ObjectStore;
beforeAll(async () => {
  objects = await startObjectStore();
  const source = await open(SOURCE);
  for (const name of readdirSync(FIXTURE)) await source.write(name, [readFileSync(join(FIXTURE, name))]);
});
afterAll(() => objects.stop());

const open = (location: string): Promise<CheckpointStore> =>
  openStore(location, { endpoint: objects.endpoint, credentials: { accessKeyId: 'key', secretAccessKey: 'secret' } });

interface Message {
  readonly stopped?: string;
  readonly outcome?: ReshardOutcome;
}

function start(target: string, share: readonly [index: number, count: number], writes = Infinity): ChildProcess {
  const args = [SOURCE, target, ...share, objects.endpoint, writes];
  return fork(WORKER, args.map(String), { execArgv: ['--disable-warning=ExperimentalWarning'] });
}

/** What it reports next. */
async function messageOf(worker: ChildProcess): Promise<Message> {
  const [message] = (await once(worker, 'message')) as [Message];
  return message;
}

async function contentsOf(target: string): Promise<Readonly<Record<string, string>>> {
  const store = await open(target);
  const contents: Record<string, string> = {};
  for (const { path, bytes } of await store.list())
    contents[path] = createHash('sha256')
      .update(await store.read(path, 0, bytes))
      .digest('hex');
  return contents;
}

it('leaves the save to the other worker and to its own successor, which publishes what one worker alone would have written', async () => {
  const [alone, shared] = ['s3://test/alone', 's3://test/shared'];
  expect((await messageOf(start(alone, [0, 1]))).outcome).toMatchObject({ isComplete: true });
  const killed = start(shared, [0, 2], 1);
  expect((await messageOf(killed)).stopped).toMatch(/\.distcp$/);
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  const { outcome: ofOther } = await messageOf(start(shared, [1, 2]));
  expect(ofOther).toMatchObject({ isComplete: false, pieces: { found: 0 } });
  expect(Object.keys(await contentsOf(shared))).not.toContain('.metadata');
  const { outcome } = await messageOf(start(shared, [0, 2]));
  expect([outcome?.isComplete, (outcome?.pieces.done ?? 0) > 0]).toEqual([true, true]);
  expect(await contentsOf(shared)).toEqual(await contentsOf(alone));
  const store = await open(shared);
  const files = await store.list();
  expect(await runReading(store, files, verifySave(files, { level: 'V3', crc32 }))).toMatchObject({ verdict: 'sound' });
});
