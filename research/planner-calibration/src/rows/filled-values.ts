/** Values that no table printed: each is filled by a named rule, and the score counts how often. */
export class FilledValues {
  readonly #rules = new Set<string>();

  /** The stated value, or else that of the rule, which is noted. */
  or<T>(stated: T | undefined, rule: string, value: () => T): T {
    if (stated !== undefined) return stated;
    this.#rules.add(rule);
    return value();
  }

  get rules(): readonly string[] {
    return [...this.#rules];
  }
}

/** A row that cannot be predicted; the message is the reason that the score counts. */
export class Unpredicted extends Error {}
