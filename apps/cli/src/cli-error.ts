/** An error that the user can fix. The CLI prints its message without a stack trace. */
export class CliError extends Error {
  /** 1: the request was wrong or rejected; 2: the server could not be reached. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}
