import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Shorter values occur in ordinary output, such as `true` or a port. */
const LEAST_BYTES = 8;
/** A file of a Secret beyond this is data and no credential. */
const MAX_FILE_BYTES = 65_536;
/** Variables that a runtime may take from a Secret as a whole: the pod does not say which they are. */
const NAMED_LIKE_SECRET = /(?:^|_)(?:TOKEN|SECRET|PASSWORD|API_?KEY|ACCESS_KEY)$/i;
/** Most values that are masked. A key of 4,096 bits has 50 lines. */
const MAX_VALUES = 10_000;
/** Everyone may read a certificate, and a file of the authorities that a program trusts has thousands of lines. */
const CERTIFICATES =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\sA-Za-z0-9+/=]*-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;
const MASK = Buffer.from('***');
const EMPTY = Buffer.alloc(0);
/** Bytes that are looked up at once. A place that cannot have a value moves the search on by up to `BLOCK_AT + 1`. */
const BLOCK_BYTES = 4;
const BLOCK_AT = LEAST_BYTES - BLOCK_BYTES;
const HASH_BITS = 16;

/** Where the values of a job's Secrets are in its pod. */
export interface SecretPlaces {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Variables that are from Secrets. */
  readonly variables: readonly string[];
  /** Directory of the keys that the job gets as files. */
  readonly directory: string;
}

/** The values of the job's Secrets, as they could occur in a line of output, and how many more there are than are masked. */
export function secretValues({ environment, variables, directory }: SecretPlaces): {
  readonly values: readonly string[];
  readonly unmasked: number;
} {
  const names = new Set([...variables, ...Object.keys(environment).filter((name) => NAMED_LIKE_SECRET.test(name))]);
  const texts = [...[...names].map((name) => environment[name] ?? ''), ...filesBelow(directory)];
  const lines = texts
    .flatMap((text) => text.replaceAll(CERTIFICATES, '\n').split(/[\r\n]+/))
    .map((line) => line.trim());
  const values = [...new Set(lines.filter((line) => Buffer.byteLength(line) >= LEAST_BYTES))];
  return { values: values.slice(0, MAX_VALUES), unmasked: Math.max(0, values.length - MAX_VALUES) };
}

/** Finds values in bytes, in a time that does not depend on their number (the algorithm of Wu and Manber): the thread that masks also sends heartbeats. Streams share it. */
export class SecretIndex {
  /** By hash of a block: how far the search may go on if the bytes at `BLOCK_AT` have it. 0: a value can be here. */
  readonly #steps = new Uint8Array(2 ** HASH_BITS).fill(BLOCK_AT + 1);
  /** By the block at `BLOCK_AT`, the longest first. */
  readonly #values = new Map<number, Buffer[]>();
  /** Beginnings of values that are shorter than each value. */
  readonly #beginnings = new Set<string>();

  constructor(values: readonly string[]) {
    const secrets = values.map((value) => Buffer.from(value)).filter(({ length }) => length >= LEAST_BYTES);
    for (const secret of secrets.sort((one, other) => other.length - one.length)) {
      for (let at = 0; at <= BLOCK_AT; at += 1) {
        const hash = hashOf(blockAt(secret, at));
        this.#steps[hash] = Math.min(this.#steps[hash] ?? 0, BLOCK_AT - at);
      }
      const block = blockAt(secret, BLOCK_AT);
      const others = this.#values.get(block);
      if (others === undefined) this.#values.set(block, [secret]);
      else others.push(secret);
      for (let length = 1; length < LEAST_BYTES; length += 1)
        this.#beginnings.add(secret.toString('latin1', 0, length));
    }
  }

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  /** The next place from `from` on where a value can begin; the end of `bytes`: there is none that shows the least bytes of one. */
  next(bytes: Buffer, from: number): number {
    const steps = this.#steps;
    const last = bytes.length - LEAST_BYTES;
    for (let at = from; at <= last;) {
      const step = steps[hashOf(blockAt(bytes, at + BLOCK_AT))] ?? 0;
      if (step === 0) return at;
      at += step;
    }
    return bytes.length;
  }

  /** The longest value that is at this place, or of which the begin is there, unless `isWhole`. */
  longestAt(bytes: Buffer, at: number, isWhole: boolean): Buffer | undefined {
    const left = bytes.length - at;
    return this.#values.get(blockAt(bytes, at + BLOCK_AT))?.find((value) => {
      if (isWhole && value.length > left) return false;
      const length = Math.min(left, value.length);
      return value.compare(bytes, at, at + length, 0, length) === 0;
    });
  }

  /** Where the last bytes begin that are the begin of a value and fewer than each value has. */
  beginningAtEnd(bytes: Buffer): number {
    for (let at = Math.max(0, bytes.length - LEAST_BYTES + 1); at < bytes.length; at += 1)
      if (this.#beginnings.has(bytes.toString('latin1', at))) return at;
    return bytes.length;
  }
}

/** Replaces secret values in a stream of bytes; values that overlap get one mask. One for each stream: a value can be cut by the end of a chunk. */
export class SecretMask {
  readonly #index: SecretIndex;
  /** The end of the last chunk, if it could be the begin of a value. */
  #held: Buffer = EMPTY;
  /** So many bytes of it are behind a mask that was returned already. */
  #covered = 0;

  constructor(index: SecretIndex) {
    this.#index = index;
  }

  push(chunk: Buffer): Buffer {
    if (this.#index.isEmpty) return chunk;
    return this.#masked(this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]), { isEnd: false });
  }

  /** What was held back, once the stream has ended. */
  end(): Buffer {
    return this.#masked(this.#held, { isEnd: true });
  }

  /** Holds back the bytes from the first place on that can be the begin of a value, unless the stream ends. */
  #masked(bytes: Buffer, { isEnd }: { readonly isEnd: boolean }): Buffer {
    const parts: Buffer[] = [];
    /** The bytes before it are in `parts` or behind a mask. */
    let done = this.#covered;
    let hold = bytes.length;
    for (let at = this.#index.next(bytes, 0); at < bytes.length; at = this.#index.next(bytes, at + 1)) {
      const value = this.#index.longestAt(bytes, at, isEnd);
      if (value === undefined) continue;
      if (at + value.length > bytes.length) {
        hold = at;
        break;
      }
      if (at >= done) parts.push(bytes.subarray(done, at), MASK);
      done = Math.max(done, at + value.length);
    }
    if (!isEnd && hold === bytes.length) hold = this.#index.beginningAtEnd(bytes);
    this.#covered = Math.max(0, done - hold);
    this.#held = hold === bytes.length ? EMPTY : Buffer.from(bytes.subarray(hold));
    if (done === 0 && hold === bytes.length) return bytes;
    return Buffer.concat([...parts, bytes.subarray(Math.min(done, hold), hold)]);
  }
}

/** Faster than `readInt32LE`. */
function blockAt(bytes: Buffer, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
}

function hashOf(block: number): number {
  return Math.imul(block, 0x9e37_79b1) >>> (32 - HASH_BITS);
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
