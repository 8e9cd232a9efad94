/** Why a file of another system cannot become a job, and what to do instead. */
export class ImportError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ImportError';
  }
}
