import { DomainError } from '@coxswain/domain-error';

/** Typed access to the keys of a configuration; each takes the names a size goes by, the usual one first. */
export interface ConfigKeys {
  /** A positive whole number. Throws INVALID_REQUEST where it is absent or something else. */
  count(...names: readonly [string, ...string[]]): number;
  /** The same, of what is written out layer by layer: throws where there are more than any model has. */
  layers(...names: readonly [string, ...string[]]): number;
  /** The same; where it is absent, `fallback`, which is noted. */
  countOr(fallback: number, ...names: readonly [string, ...string[]]): number;
  /** A whole number, undefined where absent or null. */
  optional(...names: readonly [string, ...string[]]): number | undefined;
  flag(fallback: boolean, name: string): boolean;
  /** The entries of a list; none where it is absent. */
  list(name: string): readonly unknown[];
  /** A string; '' where it is absent. */
  text(name: string): string;
  /** Records something the caller should know of. */
  note(sentence: string): void;
  /** The error for a key that must be there. */
  absent(...names: readonly [string, ...string[]]): DomainError;
}

/** Somebody else wrote the file, and what is made for each layer takes memory of whoever reads it. */
const MOST_LAYERS = 1024;

/** Reads `config`, whose `model_type` is `type`; what is filled in is added to `assumed`. */
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
