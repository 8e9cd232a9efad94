/** The options of an argparse parser, as the parser itself listed them (engines/judges). */

/** One option as the parser has it. */
export interface Option {
  /** Values that it takes: a number, or `?`, `*`, `+` as argparse means them. */
  readonly arity: number | '?' | '*' | '+';
  readonly kind: 'int' | 'float' | 'text' | 'true' | 'false' | 'set' | 'choice';
  readonly choices: readonly string[];
  /** The name under which the value is kept: options that share it overwrite each other. */
  readonly dest: string;
}

/** Options by the flags that set them. */
export type OptionTable = ReadonlyMap<string, Option>;

/** Each option as `arity kind [dest]`, `!` before it where it is deprecated. */
export interface WrittenOptions {
  readonly release: string;
  readonly options: Readonly<Record<string, string>>;
}

/** Reads the written form of the options. */
export function optionTable({ options }: WrittenOptions): OptionTable {
  return new Map(Object.entries(options).map(([flag, written]) => [flag, readOption(flag, written)]));
}

const KINDS = ['int', 'float', 'text', 'true', 'false', 'set'] as const;

function readOption(flag: string, written: string): Option {
  const [arity = '', kind = '', dest] = written.replace(/^!/, '').split(' ');
  const known = KINDS.find((one) => one === kind);
  return {
    arity: arity === '?' || arity === '*' || arity === '+' ? arity : Number(arity),
    kind: known ?? 'choice',
    choices: known === undefined ? kind.split('|') : [],
    dest: dest ?? flag.replace(/^-+/, '').replaceAll('-', '_'),
  };
}
