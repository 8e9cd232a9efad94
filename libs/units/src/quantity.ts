/** Kubernetes quantities: `8`, `500m`, `64Gi`, `1e9`. */

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

/** The value of a quantity, in bytes for memory; undefined if the text is not a quantity. */
export function quantityOf(text: string): number | undefined {
  const [, digits, exponent = '', suffix = ''] = FORM.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const number = Number(`${digits}${exponent}`);
  return suffix === 'm' ? number / 1000 : number * (SUFFIX_OF_BYTES[suffix] ?? NaN);
}
