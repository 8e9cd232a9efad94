import { readFileSync } from 'node:fs';

/** What a process has used so far. */
export interface Usage {
  /** Of all its threads, user and system. */
  readonly cpuMs: number;
  readonly residentMiB: number;
  readonly peakResidentMiB: number;
}

/** Linux counts processor time in hundredths of a second, whatever the kernel's own tick is. */
const TICK_MS = 10;

/** Usage of the process of that id, as the kernel counts it. */
export function usageOf(pid: number): Usage {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command's name may hold spaces: fields count from behind its bracket, where the third one stands.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mebibytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
  return {
    cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
    residentMiB: mebibytes('VmRSS'),
    peakResidentMiB: mebibytes('VmHWM'),
  };
}
