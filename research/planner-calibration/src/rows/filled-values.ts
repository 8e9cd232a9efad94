/** Records which rules filled in values that no table states; the score counts them. */
export class FilledValues {
  readonly #rules = new Set<string>();

  /** The stated value, else the value of the rule, which is recorded. */
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
