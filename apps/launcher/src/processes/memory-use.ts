/** How much memory is used, and how much there is: of this container, or of its node if the container has no limit. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** In bytes, without page cache that the kernel gives back. undefined: cannot be read. */
export interface MemoryNow {
  readonly limitBytes: number;
  readonly usedBytes: number;
  readonly of: 'pod' | 'node';
}

/** Where the kernel shows the memory of a container: the first that is there counts. */
const CGROUPS = [
  { limit: 'memory.max', used: 'memory.current', stat: 'memory.stat', cache: 'inactive_file' },
  {
    limit: 'memory/memory.limit_in_bytes',
    used: 'memory/memory.usage_in_bytes',
    stat: 'memory/memory.stat',
    cache: 'total_inactive_file',
  },
] as const;

/** Reads memory of the container, else of the node. `root` is that of the file system. */
export function memoryNow(root = '/'): MemoryNow | undefined {
  const node = ofNode(root);
  if (node === undefined) return undefined;
  const cgroup = join(root, 'sys/fs/cgroup');
  for (const files of CGROUPS) {
    const limit = textOf(join(cgroup, files.limit))?.trim();
    if (limit === undefined) continue;
    const limitBytes = Number(limit);
    // Without a limit, the second version writes "max" and the first a number that no machine has.
    if (!(limitBytes < node.limitBytes)) return node;
    const used = numberIn(textOf(join(cgroup, files.used)), /^(\d+)$/m);
    if (used === undefined) return undefined;
    const cache = numberIn(textOf(join(cgroup, files.stat)), new RegExp(`^${files.cache} (\\d+)$`, 'm')) ?? 0;
    return { limitBytes, usedBytes: Math.max(0, used - cache), of: 'pod' };
  }
  return undefined;
}

/** Memory that a process shares with no file, in bytes; 0 where it has ended. */
export function ownBytesOf(pid: number): number {
  const status = textOf(`/proc/${pid}/status`);
  const inKiB = (field: string): number => numberIn(status, new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm')) ?? 0;
  return (inKiB('RssAnon') + inKiB('RssShmem')) * 1024;
}

function ofNode(root: string): MemoryNow | undefined {
  const text = textOf(join(root, 'proc/meminfo'));
  const total = numberIn(text, /^MemTotal:\s*(\d+) kB$/m);
  const available = numberIn(text, /^MemAvailable:\s*(\d+) kB$/m);
  if (total === undefined || available === undefined) return undefined;
  return { limitBytes: total * 1024, usedBytes: (total - available) * 1024, of: 'node' };
}

function numberIn(text: string | undefined, pattern: RegExp): number | undefined {
  const found = pattern.exec(text ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
