import { createHash } from 'node:crypto';
import { CODE_LIMITS } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { formatBytes } from '@coxswain/units';

/** The bytes of an upload on their way to the bucket. They end with an error unless they are what the digest says, so that nothing else is stored. */
export class CheckedArchive implements AsyncIterable<Uint8Array> {
  /** So far. */
  bytes = 0;
  /** Why the upload is refused, or why its bytes ended. */
  problem: Error | undefined;
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #sha256: string;

  constructor(source: AsyncIterable<Uint8Array>, sha256: string) {
    this.#source = source;
    this.#sha256 = sha256;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    try {
      for await (const chunk of this.#source) {
        this.bytes += chunk.length;
        if (this.bytes > CODE_LIMITS.archiveBytes) throw tooLarge();
        hash.update(chunk);
        yield chunk;
      }
      const found = hash.digest('hex');
      if (found !== this.#sha256)
        throw new DomainError(
          'INVALID_REQUEST',
          `the archive has the SHA-256 ${found}, and its address says ${this.#sha256}; send the bytes that the digest was made of`,
        );
    } catch (error) {
      this.problem = error as Error;
      throw error;
    }
  }
}

export function tooLarge(): DomainError {
  return new DomainError(
    'TOO_LARGE',
    `an archive of code has at most ${formatBytes(CODE_LIMITS.archiveBytes)}; leave data, checkpoints and environments out, for instance by .gitignore`,
  );
}
