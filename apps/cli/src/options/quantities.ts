import { InvalidArgumentError } from 'commander';

const MULTIPLES: Readonly<Record<string, number>> = { '': 1, K: 1e3, M: 1e6, B: 1e9, G: 1e9, T: 1e12 };
const HOURS: Readonly<Record<string, number>> = { h: 1, d: 24, w: 168 };

/** `15T`, `300B`, `1.5e12`: a number of tokens. */
export function tokenCount(text: string): number {
  const [, number = '', letter = ''] = /^([0-9.]+(?:e[0-9]+)?)([KMBGT]?)$/i.exec(text) ?? [];
  const tokens = Number(number) * (MULTIPLES[letter.toUpperCase()] ?? NaN);
  if (number === '' || !(tokens > 0))
    throw new InvalidArgumentError(`"${text}" is not a number of tokens such as 15T or 300B.`);
  return tokens;
}

/** `30d`, `12h`, `2w`: hours. */
export function hours(text: string): number {
  const [, number = '', unit = ''] = /^([0-9.]+)([hdw])$/.exec(text) ?? [];
  const count = Number(number) * (HOURS[unit] ?? NaN);
  if (number === '' || !(count > 0)) throw new InvalidArgumentError(`"${text}" is not a duration such as 12h or 30d.`);
  return count;
}

/** A positive number, as for bandwidths and prices. */
export function positiveNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number) || number <= 0)
    throw new InvalidArgumentError(`"${text}" is not a positive number.`);
  return number;
}

/** A share from 0 to 1. */
export function shareOfOne(text: string): number {
  const share = Number(text);
  if (text.trim() === '' || !(share >= 0 && share <= 1))
    throw new InvalidArgumentError(`"${text}" is not a share from 0 to 1, such as 0.5.`);
  return share;
}

/**
 * `tp=8,pp=4` as entries. Throws InvalidArgumentError where a part is no pair, a key is given twice or is not one of `keys`.
 */
export function assignments(text: string, keys: readonly string[]): readonly (readonly [string, string])[] {
  const pairs = text.split(',').map((part): readonly [string, string] => {
    const [, key, value] = /^([^=]+)=(.+)$/.exec(part.trim()) ?? [];
    if (key === undefined || value === undefined)
      throw new InvalidArgumentError(`"${part}" is not of the form name=value.`);
    if (!keys.includes(key)) throw new InvalidArgumentError(`"${key}" is not one of ${keys.join(', ')}.`);
    return [key, value];
  });
  const twice = pairs.find(([key], index) => pairs.findIndex(([other]) => other === key) !== index);
  if (twice !== undefined) throw new InvalidArgumentError(`"${twice[0]}" is given twice.`);
  return pairs;
}
