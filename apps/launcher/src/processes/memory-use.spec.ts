import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { memoryNow, ownBytesOf } from './memory-use.ts';

const MEMINFO = 'MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n';
const V1 = 'sys/fs/cgroup/memory';

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'memory-'))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('memory in use', () => {
  it.each<[string, Readonly<Record<string, string>>, ReturnType<typeof memoryNow>]>([
    [
      'is that of the pod, without page cache that can go',
      {
        'sys/fs/cgroup/memory.max': '900000\n',
        'sys/fs/cgroup/memory.current': '500000\n',
        'sys/fs/cgroup/memory.stat': 'anon 1\ninactive_file 200000\nactive_file 7\n',
      },
      { limitBytes: 900_000, usedBytes: 300_000, of: 'pod' },
    ],
    [
      'is that of the pod under the first version of cgroups',
      {
        [`${V1}/memory.limit_in_bytes`]: '900000\n',
        [`${V1}/memory.usage_in_bytes`]: '500000\n',
        [`${V1}/memory.stat`]: 'inactive_file 1\ntotal_inactive_file 100000\n',
      },
      { limitBytes: 900_000, usedBytes: 400_000, of: 'pod' },
    ],
    [
      'is that of the node if the pod has no limit',
      { 'sys/fs/cgroup/memory.max': 'max\n', 'sys/fs/cgroup/memory.current': '5\n' },
      { limitBytes: 1_024_000, usedBytes: 614_400, of: 'node' },
    ],
    [
      'is that of the node if the limit is larger than it',
      { [`${V1}/memory.limit_in_bytes`]: '9223372036854771712\n', [`${V1}/memory.usage_in_bytes`]: '5\n' },
      { limitBytes: 1_024_000, usedBytes: 614_400, of: 'node' },
    ],
    ['is unknown if no limit can be read', {}, undefined],
    ['is unknown if its use cannot be read', { 'sys/fs/cgroup/memory.max': '900000\n' }, undefined],
  ])('%s', (_sentence, files, want) => {
    for (const [path, text] of Object.entries({ 'proc/meminfo': MEMINFO, ...files })) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    expect(memoryNow(root)).toEqual(want);
  });

  it('of a process is what it shares with no file, and 0 once it has gone', () => {
    expect(ownBytesOf(process.pid)).toBeGreaterThan(2 ** 20);
    expect(ownBytesOf(2 ** 30)).toBe(0);
  });
});
