/** A CPU quantity (`500m`, `1.5`) times a count, in millicores, which is the finest a kubelet honours. */
export function timesCpu(quantity: string, count: number): string {
  const product = Math.ceil(milliCpuOf(quantity) * count);
  return product % 1000 === 0 ? String(product / 1000) : `${product}m`;
}

/** Processors of a CPU quantity (`500m`, `1.5`). */
export function cpuOf(quantity: string): number {
  return milliCpuOf(quantity) / 1000;
}

function milliCpuOf(quantity: string): number {
  return quantity.endsWith('m') ? Number(quantity.slice(0, -1)) : Number(quantity) * 1000;
}

/** Bytes of a memory quantity (`16Gi`, `1.5G`, `1000`). */
export function bytesOf(quantity: string): number {
  const { number, unit } = partsOfMemory(quantity);
  const base = unit.endsWith('i') ? 1024 : 1000;
  return number * base ** ' kmgt'.indexOf(unit.charAt(0).toLowerCase() || ' ');
}

/** A memory quantity (`16Gi`, `1.5G`, `1000`) times a count, in the same unit. */
export function timesMemory(quantity: string, count: number): string {
  const { number, unit } = partsOfMemory(quantity);
  // Six digits are finer than any unit in use; the rounding hides 0.1 * 3 = 0.30000000000000004.
  return `${Number((number * count).toFixed(6))}${unit}`;
}

function partsOfMemory(quantity: string): { readonly number: number; readonly unit: string } {
  const [, number = '0', unit = ''] = /^([0-9.]+)([A-Za-z]*)$/.exec(quantity) ?? [];
  return { number: Number(number), unit };
}
