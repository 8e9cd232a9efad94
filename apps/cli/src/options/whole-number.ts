import { InvalidArgumentError } from 'commander';

/** Parses an option that counts something. Commander prints the option's name before the message. */
export function wholeNumber(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new InvalidArgumentError(`"${text}" is not a whole number${inDigits(text)}.`);
  return Number(text);
}

/** People write `8k` tokens and mean 8,192, and `4M` samples and mean four million. */
function inDigits(text: string): string {
  return /^[0-9.]+[kmg]$/i.test(text) ? '; write all its digits, as in 8192' : '';
}
