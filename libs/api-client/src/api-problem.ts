import { Problem } from '@coxswain/api-types';

/** A field of the request (`/spec/engine/image`, RFC 6901) and what is wrong with it. */
type Violation = NonNullable<Problem['errors']>[number];

/** The API rejected a request: HTTP status, error code, and a message that names every wrong field. */
export class ApiProblem extends Error {
  readonly status: number;
  /** A DomainErrorCode, or `UNKNOWN` if the answer is not a problem document. */
  readonly code: string;
  /** What is wrong with which field of the request; empty if the API names none. */
  readonly violations: readonly Violation[];

  constructor(status: number, code: string, message: string, violations: readonly Violation[] = []) {
    super(message);
    this.name = 'ApiProblem';
    this.status = status;
    this.code = code;
    this.violations = violations;
  }

  static async from(response: Response): Promise<ApiProblem> {
    const text = await response.text();
    const problem = Problem.safeParse(parseJson(text));
    if (!problem.success)
      return new ApiProblem(
        response.status,
        'UNKNOWN',
        `The server answered ${response.status}${text === '' ? '' : `: ${text.slice(0, 500)}`}. Is the address that of a Coxswain API?`,
      );
    const { code, detail, errors = [] } = problem.data;
    const fields = errors.map((error) => `  ${error.pointer === '' ? '(body)' : error.pointer}: ${error.detail}`);
    return new ApiProblem(response.status, code, [`${detail} (${code})`, ...fields].join('\n'), errors);
  }
}

/** The API did not answer: the address is wrong, or the API is down. */
export class ApiUnreachable extends Error {
  constructor(server: string, cause: unknown) {
    const inner =
      cause instanceof Error ? ((cause as Error & { cause?: Error }).cause?.message ?? cause.message) : String(cause);
    super(`Cannot reach ${server}: ${inner}. Is the API running, and is the address right?`, { cause });
    this.name = 'ApiUnreachable';
  }
}

/** The value of a JSON text; undefined for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
