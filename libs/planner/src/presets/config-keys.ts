import { DomainError } from '@coxswain/domain-error';

/** Typed access to the keys of a configuration. Each method takes the possible names of a key, the usual one first. */
export interface ConfigKeys {
  /** A positive whole number. Throws INVALID_REQUEST if it is absent or invalid. */
  count(...names: readonly [string, ...string[]]): number;
  /** A number of layers, with an upper limit. */
  layers(...names: readonly [string, ...string[]]): number;
  /** A positive whole number; if it is absent, `fallback`, with a note. */
  countOr(fallback: number, ...names: readonly [string, ...string[]]): number;
  /** A whole number; undefined if absent or null. */
  optional(...names: readonly [string, ...string[]]): number | undefined;
  flag(fallback: boolean, name: string): boolean;
  /** The entries of a list; empty if absent. */
  list(name: string): readonly unknown[];
  /** A string; '' if absent. */
  text(name: string): string;
  /** Records a note for the caller. */
  note(sentence: string): void;
  /** The error for a key that must be there. */
  absent(...names: readonly [string, ...string[]]): DomainError;
}

/** Limit on layers, because files of others are not trusted and each layer takes memory. */
const MOST_LAYERS = 1024;

/** Reads a `config` with `model_type` `type`; filled-in values are added to `assumed`. */
export function configKeys(config: Readonly<Record<string, unknown>>, type: string, assumed: string[]): ConfigKeys {
  const refuse = (name: string, rule: string): DomainError => {
    const detail = `config.json of model_type "${type}": ${rule}`;
    return new DomainError('INVALID_REQUEST', `${detail}.`, [{ pointer: `/${name}`, detail }]);
  };
  const wholeNumber = (name: string): number | undefined => {
    const value = config[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
      throw refuse(name, `${name} is ${JSON.stringify(value)}, but must be a whole number`);
    return value;
  };
  const keys: ConfigKeys = {
    optional: (...names) => names.map(wholeNumber).find((value) => value !== undefined),
    count: (...names) => {
      const value = keys.optional(...names);
      if (value === undefined) throw keys.absent(...names);
      if (value === 0) throw refuse(names[0], `${names[0]} is 0, but must be at least 1`);
      return value;
    },
    layers: (...names) => {
      const value = keys.count(...names);
      if (value > MOST_LAYERS) throw refuse(names[0], `${names[0]} is ${value}, but must be at most ${MOST_LAYERS}`);
      return value;
    },
    countOr: (fallback, ...names) => {
      const value = keys.optional(...names);
      if (value !== undefined) return value;
      keys.note(`${names[0]} is absent: ${fallback}`);
      return fallback;
    },
    flag: (fallback, name) => {
      const value = config[name];
      if (value === undefined || value === null) return fallback;
      if (typeof value !== 'boolean')
        throw refuse(name, `${name} is ${JSON.stringify(value)}, but must be true or false`);
      return value;
    },
    list: (name) => {
      const value = config[name];
      return Array.isArray(value) ? value : [];
    },
    text: (name) => {
      const value = config[name];
      return typeof value === 'string' ? value : '';
    },
    note: (sentence) => {
      if (!assumed.includes(sentence)) assumed.push(sentence);
    },
    absent: (...names) => refuse(names[0], `${names.join(' or ')} is needed and absent`),
  };
  return keys;
}
