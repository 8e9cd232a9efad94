/** How much memory does a process have, while something is done to it? */
import { readFileSync } from 'node:fs';

const LOOK_MS = 500;

/** What was seen of a process’s memory. */
export interface MemorySeen {
  readonly firstMib: number;
  readonly highestMib: number;
  readonly lastMib: number;
}

/** Looks until it is told to end. */
export function watchMemory(pid: number): () => MemorySeen {
  const seen = [residentMib(pid)];
  const looking = setInterval(() => seen.push(residentMib(pid)), LOOK_MS);
  return () => {
    clearInterval(looking);
    const last = residentMib(pid);
    return { firstMib: seen[0] ?? last, highestMib: Math.max(...seen, last), lastMib: last };
  };
}

function residentMib(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Math.round(Number(kib ?? 0) / 1024);
  } catch {
    return 0;
  }
}
