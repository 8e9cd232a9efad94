/** A CPU quantity (`500m`, `1.5`) times a count, in millicores, which is the finest a kubelet honours. */
export function timesCpu(quantity: string, count: number): string {
  const millicores = quantity.endsWith('m') ? Number(quantity.slice(0, -1)) : Number(quantity) * 1000;
  const product = Math.ceil(millicores * count);
  return product % 1000 === 0 ? String(product / 1000) : `${product}m`;
}

/** A memory quantity (`16Gi`, `1.5G`, `1000`) times a count, in the same unit. */
export function timesMemory(quantity: string, count: number): string {
  const [, number = '0', unit = ''] = /^([0-9.]+)([A-Za-z]*)$/.exec(quantity) ?? [];
  // Six digits are finer than any unit in use; the rounding hides 0.1 * 3 = 0.30000000000000004.
  return `${Number((Number(number) * count).toFixed(6))}${unit}`;
}
