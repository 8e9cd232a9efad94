import { InvalidArgumentError } from 'commander';

/** An option's value that counts something; commander prints the option's name before the sentence. */
export function wholeNumber(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new InvalidArgumentError(`"${text}" is not a whole number.`);
  return Number(text);
}
