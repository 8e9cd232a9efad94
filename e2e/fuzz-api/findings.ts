/** What came of the requests? A table of operation and status, and whatever must not be. */

/** Whose request it was. */
export type Asker = 'Schemathesis' | 'streams' | 'ours';

/** An answer as the fuzzer looks at it. */
export interface SeenAnswer {
  /** As the document names it, such as `GET /v1/projects/{project}`, or `query job`. */
  readonly operation: string;
  readonly status: number;
  readonly text: string;
  /** What was asked, to repeat it. */
  readonly asked: string;
  readonly asker: Asker;
  /** Whether whoever asked may see what the other tenant keeps. */
  readonly maySeeCanary: boolean;
}

const MAX_VIOLATIONS = 50;
const SHOWN_CHARACTERS = 1_500;

/** Counts answers, and keeps what broke a rule. */
export class Findings {
  readonly violations: string[] = [];
  readonly #canary: string;
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #askedBy: Record<Asker, number> = { Schemathesis: 0, streams: 0, ours: 0 };

  constructor(canary: string) {
    this.#canary = canary;
  }

  /** Requests that were answered. */
  get total(): number {
    return Object.values(this.#askedBy).reduce((sum, count) => sum + count, 0);
  }

  get askedBy(): Readonly<Record<Asker, number>> {
    return this.#askedBy;
  }

  /** Puts an operation into the table before it was asked for. */
  know(operation: string): void {
    if (!this.#counts.has(operation)) this.#counts.set(operation, new Map());
  }

  see(answer: SeenAnswer): void {
    this.#askedBy[answer.asker]++;
    this.count(answer.operation, String(answer.status));
    if (answer.status >= 500 && !isSaidOfItself(answer)) {
      this.violate(`${answer.status} for ${answer.asked}: ${answer.text}`);
    }
    // What GraphQL answers with 200 can be a failure all the same.
    if (answer.text.includes('"code":"INTERNAL"')) this.violate(`INTERNAL for ${answer.asked}: ${answer.text}`);
    this.look(answer);
  }

  /** Only for what the other tenant keeps. */
  look({ text, asked, maySeeCanary }: Pick<SeenAnswer, 'text' | 'asked' | 'maySeeCanary'>): void {
    if (!maySeeCanary && text.includes(this.#canary)) this.violate(`the canary came out of ${asked}: ${text}`);
  }

  /** Another outcome of a request that was seen: a field of GraphQL. */
  count(operation: string, outcome: string): void {
    this.know(operation);
    const counts = this.#counts.get(operation);
    counts?.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }

  violate(what: string): void {
    if (this.violations.length < MAX_VIOLATIONS) this.violations.push(what.slice(0, SHOWN_CHARACTERS));
  }

  /** Operations that were never answered in one of these ways. */
  neverAnswered(outcome: RegExp, operations: RegExp): readonly string[] {
    return [...this.#counts]
      .filter(
        ([operation, counts]) => operations.test(operation) && ![...counts.keys()].some((key) => outcome.test(key)),
      )
      .map(([operation]) => operation);
  }

  table(): string {
    const width = Math.max(...[...this.#counts.keys()].map((operation) => operation.length));
    return [...this.#counts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([operation, counts]) => {
        const shown = [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, count]) => `${key}: ${count}`);
        return `  ${operation.padEnd(width)}  ${shown.join('  ')}`;
      })
      .join('\n');
  }
}

/** What says by itself that it cannot serve just now: it has a sentence and a time to wait. */
function isSaidOfItself({ operation, status }: SeenAnswer): boolean {
  return operation === 'GET /readyz' && status === 503;
}
