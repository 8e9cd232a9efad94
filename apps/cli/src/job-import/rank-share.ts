/** What each rank gets of the processors and the memory of its pod, as Kubernetes writes it. */

/** Processors of one rank: `4`, or `1500m`; rounded down to thousandths. Undefined where nothing is left. */
export function cpuShare(cpus: number, ranks: number): string | undefined {
  // A product of decimals is a hair off: 0.3 cores of three are 300m, not 299m.
  const thousandths = Math.floor((cpus * 1000) / ranks + 1e-6);
  if (thousandths < 1 || thousandths > 1e9) return undefined;
  return thousandths % 1000 === 0 ? String(thousandths / 1000) : `${thousandths}m`;
}

/** Memory of one rank in the largest unit that is exact, Mi at least; rounded down. Undefined if nothing is left. */
export function memoryShare(bytes: number, ranks: number): string | undefined {
  const mebibytes = Math.floor(bytes / ranks / 2 ** 20);
  if (mebibytes < 1 || mebibytes > 2 ** 34) return undefined;
  return mebibytes % 1024 === 0 ? `${mebibytes / 1024}Gi` : `${mebibytes}Mi`;
}
