/** A worker of a reshard as a process of its own: `reshard-worker.ts SOURCE TARGET INDEX COUNT ENDPOINT WRITES`. It reports each file that it wrote, and stops before it writes another one. */
import { crc32 } from 'node:zlib';
import { DCP_INDEX_FILE, divideRows, planReshard, readKeyPaths, verifySave } from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { openStore } from '../open-store.ts';
import { runReading } from '../reading/run-reading.ts';
import { sourceIdOf } from '../resharding/plan-save.ts';
import { runReshard } from '../resharding/run-reshard.ts';

const [from = '', to = '', index = '', count = '', endpoint = '', writes = ''] = process.argv.slice(2);

/** Hangs in the write after so many files. */
function stopping(store: CheckpointStore, files: number): CheckpointStore {
  let written = 0;
  return {
    location: store.location,
    isRemote: store.isRemote,
    list: (folder) => store.list(folder),
    folders: (folder) => store.folders(folder),
    read: (...range) => store.read(...range),
    remove: (paths) => store.remove(paths),
    write: async (path, chunks, options) => {
      const isPart = path.endsWith('.distcp');
      if (isPart && written++ >= files) {
        process.send?.({ stopped: path });
        await new Promise(() => undefined);
      }
      return await store.write(path, chunks, options);
    },
  };
}

const options = { endpoint, credentials: { accessKeyId: 'key', secretAccessKey: 'secret' } };
const source = await openStore(from, options);
const files = await source.list();
const look = await runReading(source, files, verifySave(files, { level: 'V1', crc32 }));
const metadata = await source.read(DCP_INDEX_FILE, 0, files.find(({ path }) => path === DCP_INDEX_FILE)?.bytes ?? 0);
const outcome = await runReshard({
  // Small pieces, so that each worker has several.
  plan: planReshard(look.state ?? { tensors: [], objects: [] }, { divide: divideRows(2), pieceBytes: 200, crc32 }),
  paths: readKeyPaths(metadata),
  ...{ source, files, sourceId: sourceIdOf(metadata, files), bandBytes: 64 },
  target: stopping(await openStore(to, options), Number(writes)),
  worker: { index: Number(index), count: Number(count) },
});
process.send?.({ outcome });
process.disconnect();
