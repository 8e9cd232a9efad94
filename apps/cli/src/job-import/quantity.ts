/** Amounts as Kubernetes writes them (`8`, `500m`, `64Gi`, `1e9`), divided among the ranks of a pod. */

const SUFFIX_OF_BYTES: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};
const FORM = /^\+?(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d{1,2})|(Ki|Mi|Gi|Ti|Pi|m|k|M|G|T|P))?$/;

/** The number that a quantity stands for, in bytes for memory; undefined where it is none. */
export function quantityOf(text: string): number | undefined {
  const [, digits, exponent = '', suffix = ''] = FORM.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  return Number(`${digits}${exponent}`) * (suffix === 'm' ? 0.001 : (SUFFIX_OF_BYTES[suffix] ?? NaN));
}

/** Processors of one rank: `4`, or `1500m`; rounded down to thousandths. Undefined where nothing is left. */
export function cpuShare(cpus: number, ranks: number): string | undefined {
  // A product of decimals is a hair off: 0.3 cores of three are 300m, not 299m.
  const thousandths = Math.floor((cpus * 1000) / ranks + 1e-6);
  if (thousandths < 1 || thousandths > 1e9) return undefined;
  return thousandths % 1000 === 0 ? String(thousandths / 1000) : `${thousandths}m`;
}

/** Memory of one rank in the largest unit that says it exactly, from Mi; rounded down. Undefined where nothing is left. */
export function memoryShare(bytes: number, ranks: number): string | undefined {
  const mebibytes = Math.floor(bytes / ranks / 2 ** 20);
  if (mebibytes < 1 || mebibytes > 2 ** 34) return undefined;
  return mebibytes % 1024 === 0 ? `${mebibytes / 1024}Gi` : `${mebibytes}Mi`;
}
