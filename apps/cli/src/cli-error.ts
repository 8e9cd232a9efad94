/** Something the user can mend; printed as its message alone, without a stack. */
export class CliError extends Error {
  /** 1: the request was wrong or refused; 2: the server could not be reached. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}
