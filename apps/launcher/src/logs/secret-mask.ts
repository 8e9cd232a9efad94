import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Shorter values occur in ordinary output, such as `true` or a port. */
const LEAST_BYTES = 8;
/** A file of a Secret beyond this is data and no credential. */
const MAX_FILE_BYTES = 65_536;
/** Variables that a runtime may take from a Secret as a whole: the pod does not say which they are. */
const NAMED_LIKE_SECRET = /(?:^|_)(?:TOKEN|SECRET|PASSWORD|API_?KEY|ACCESS_KEY)$/i;
const MASK = Buffer.from('***');
const EMPTY = Buffer.alloc(0);

/** Where the values of a job's Secrets are in its pod. */
export interface SecretPlaces {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Variables that are from Secrets. */
  readonly variables: readonly string[];
  /** Directory of the keys that the job gets as files. */
  readonly directory: string;
}

/** The values of the job's Secrets, as they could occur in a line of output. */
export function secretValues({ environment, variables, directory }: SecretPlaces): readonly string[] {
  const names = new Set([...variables, ...Object.keys(environment).filter((name) => NAMED_LIKE_SECRET.test(name))]);
  const values = [...[...names].map((name) => environment[name] ?? ''), ...filesBelow(directory)];
  const lines = values.flatMap((value) => value.split(/[\r\n]+/)).map((line) => line.trim());
  return [...new Set(lines.filter((line) => Buffer.byteLength(line) >= LEAST_BYTES))];
}

/** Replaces secret values in a stream of bytes: of values at the same place the longest. One for each stream: a value can be cut by the end of a chunk. */
export class SecretMask {
  readonly #secrets: readonly Buffer[];
  /** The end of the last chunk, if it could be the begin of a value. */
  #held: Buffer = EMPTY;

  constructor(values: readonly string[]) {
    this.#secrets = values.map((value) => Buffer.from(value)).sort((one, other) => other.length - one.length);
  }

  push(chunk: Buffer): Buffer {
    if (this.#secrets.length === 0) return chunk;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    return this.#masked(bytes, (start) => this.#beginAtEnd(bytes, start));
  }

  /** What was held back, once the stream has ended. */
  end(): Buffer {
    return this.#masked(this.#held, () => Infinity);
  }

  /** `holdFrom`: from where on bytes are held back. */
  #masked(bytes: Buffer, holdFrom: (start: number) => number): Buffer {
    const parts: Buffer[] = [];
    const next = this.#secrets.map(() => -2);
    this.#held = EMPTY;
    for (let start = 0; ;) {
      let at = Infinity;
      let length = 0;
      for (const [index, secret] of this.#secrets.entries()) {
        let found = next[index] ?? -1;
        if (found !== -1 && found < start) next[index] = found = bytes.indexOf(secret, start);
        // Longer ones come first.
        if (found !== -1 && found < at) [at, length] = [found, secret.length];
      }
      const hold = holdFrom(start);
      if (hold <= at && hold < bytes.length) {
        this.#held = Buffer.from(bytes.subarray(hold));
        return Buffer.concat([...parts, bytes.subarray(start, hold)]);
      }
      if (at === Infinity) return parts.length === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(start)]);
      parts.push(bytes.subarray(start, at), MASK);
      start = at + length;
    }
  }

  /** The first place from which on all bytes are the begin of a secret. */
  #beginAtEnd(bytes: Buffer, start: number): number {
    let first = Infinity;
    for (const secret of this.#secrets) {
      for (let at = Math.max(start, bytes.length - secret.length + 1); at < Math.min(first, bytes.length); at += 1) {
        if (secret.compare(bytes, at, bytes.length, 0, bytes.length - at) === 0) first = at;
      }
    }
    return first;
  }
}

function filesBelow(directory: string): readonly string[] {
  try {
    // The kubelet links keys to a folder whose name begins with two dots.
    return readdirSync(directory)
      .filter((name) => !name.startsWith('..'))
      .flatMap((name) => {
        const path = join(directory, name);
        const stats = statSync(path);
        if (stats.isDirectory()) return filesBelow(path);
        return stats.isFile() && stats.size <= MAX_FILE_BYTES ? [readFileSync(path, 'utf8')] : [];
      });
  } catch {
    return [];
  }
}
