/** How much memory the container may still use. With cgroup v2 the kernel can end every process of a container that exceeds its limit, ranks included. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const CGROUP = '/sys/fs/cgroup';

/** Bytes below the limit of the container, page cache not counted; undefined: it has no limit, or none can be read. */
export function memoryRoom(cgroup = CGROUP): number | undefined {
  const limit = numberIn(join(cgroup, 'memory.max'));
  const used = numberIn(join(cgroup, 'memory.current'));
  if (limit === undefined || used === undefined) return undefined;
  return Math.max(0, limit - used + cacheBytes(cgroup));
}

function cacheBytes(cgroup: string): number {
  const found = /^inactive_file (\d+)$/m.exec(textOf(join(cgroup, 'memory.stat')) ?? '');
  return Number(found?.[1] ?? 0);
}

function numberIn(path: string): number | undefined {
  const text = textOf(path)?.trim() ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
