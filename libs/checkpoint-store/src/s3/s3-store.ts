import {
  DeleteObjectsCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { StoredFile } from '@coxswain/checkpoint';
import { type CheckpointStore, type FileChunks, MAX_FILES } from '../checkpoint-store.ts';
import { StoreError } from '../store-error.ts';
import type { StoreLocation } from '../store-location.ts';
import { readBody } from './read-body.ts';
import { storeErrorOf, type S3Place } from './s3-errors.ts';
import type { S3Options } from './s3-options.ts';
import { uploadParts } from './upload-parts.ts';

const SILENCE_MS = 30_000;
const CONNECT_MS = 5_000;
const PART_BYTES = 16 << 20;
/** Requests in one answer of DeleteObjects. */
const MAX_DELETED = 1000;
/** A read whose connection breaks goes on from where it stopped, so often in a row without a byte in between. */
const MAX_BREAKS = 4;
const MAX_CONNECTIONS = 16;

/** Saves below a prefix of a bucket of an S3-compatible store. */
export class S3Store implements CheckpointStore {
  readonly location: string;
  readonly isRemote = true;
  readonly #client: S3Client;
  readonly #bucket: string;
  /** '' or with a slash at its end. */
  readonly #prefix: string;
  readonly #silenceMs: number;
  readonly #partBytes: number;
  readonly #pageFiles: number | undefined;
  readonly #place: S3Place;
  /** Of listed files: a file that is written again while it is read would be mixed from two versions. */
  readonly #etags = new Map<string, string>();

  constructor({ bucket, prefix }: Extract<StoreLocation, { readonly kind: 'bucket' }>, options: S3Options) {
    this.location = prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`;
    this.#bucket = bucket;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#silenceMs = options.silenceMs ?? SILENCE_MS;
    this.#partBytes = options.partBytes ?? PART_BYTES;
    this.#pageFiles = options.pageFiles;
    this.#place = { location: this.location, bucket, endpoint: options.endpoint };
    this.#client = clientOf(options, this.#silenceMs);
  }

  async list(folder?: string): Promise<readonly StoredFile[]> {
    const below = folder === undefined ? this.#prefix : `${this.#prefix}${folder}/`;
    const files: StoredFile[] = [];
    let token: string | undefined;
    do {
      const page = await this.#ask('list objects', () =>
        this.#client.send(
          new ListObjectsV2Command({
            Bucket: this.#bucket,
            Prefix: below,
            ContinuationToken: token,
            MaxKeys: this.#pageFiles,
          }),
        ),
      );
      for (const { Key = '', Size = 0, LastModified, ETag } of page.Contents ?? []) {
        const path = Key.slice(this.#prefix.length);
        // Consoles mark folders by empty objects.
        if (path === '' || (path.endsWith('/') && Size === 0)) continue;
        if (ETag !== undefined) this.#etags.set(path, ETag);
        files.push({ path, bytes: Size, ...(LastModified && { writtenMs: LastModified.getTime() }) });
      }
      if (files.length > MAX_FILES)
        throw new StoreError(
          'TooManyFiles',
          `${this.location} holds more than ${String(MAX_FILES)} objects. Name the prefix of one save.`,
        );
      token = page.NextContinuationToken;
    } while (token !== undefined);
    return files;
  }

  async folders(folder: string): Promise<readonly string[]> {
    const below = `${this.#prefix}${folder}/`;
    const names: string[] = [];
    let token: string | undefined;
    do {
      const page = await this.#ask('list folders', () =>
        this.#client.send(
          new ListObjectsV2Command({
            Bucket: this.#bucket,
            Prefix: below,
            Delimiter: '/',
            ContinuationToken: token,
            MaxKeys: this.#pageFiles,
          }),
        ),
      );
      for (const { Prefix = '' } of page.CommonPrefixes ?? []) names.push(Prefix.slice(below.length, -1));
      token = page.NextContinuationToken;
    } while (token !== undefined);
    return names;
  }

  async read(path: string, offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    let etag = this.#etags.get(path);
    let filled = 0;
    for (let breaks = 0; filled < length;) {
      const answer = await this.#get(path, { from: offset + filled, length: length - filled, etag });
      if (answer === undefined) break; // The file ends before.
      etag ??= answer.etag;
      const read = await readBody(answer.body, bytes.subarray(filled, filled + answer.length), this.#silenceMs);
      filled += read.bytes;
      if (read.broken === undefined) break;
      breaks = read.bytes > 0 ? 0 : breaks + 1;
      if (breaks >= MAX_BREAKS) throw storeErrorOf(read.broken, `read ${path}`, this.#place);
    }
    return bytes.subarray(0, filled);
  }

  async write(path: string, chunks: FileChunks, { ifAbsent = false } = {}): Promise<boolean> {
    const target = { Bucket: this.#bucket, Key: this.#prefix + path, ...(ifAbsent && { IfNoneMatch: '*' }) };
    this.#etags.delete(path);
    return await this.#ask(`write ${path}`, async () => {
      try {
        const rest = await uploadParts(this.#client, target, chunks, this.#partBytes);
        if (rest !== undefined) await this.#client.send(new PutObjectCommand({ ...target, Body: rest }));
        return true;
      } catch (error) {
        if (ifAbsent && statusOf(error) === 412) return false;
        throw error;
      }
    });
  }

  async remove(paths: readonly string[]): Promise<void> {
    for (let at = 0; at < paths.length; at += MAX_DELETED) {
      const Objects = paths.slice(at, at + MAX_DELETED).map((path) => ({ Key: this.#prefix + path }));
      const answer = await this.#ask('delete objects', () =>
        this.#client.send(new DeleteObjectsCommand({ Bucket: this.#bucket, Delete: { Objects, Quiet: true } })),
      );
      const [failed] = answer.Errors ?? [];
      if (failed !== undefined)
        throw new StoreError(
          failed.Code === 'AccessDenied' ? 'AccessDenied' : 'Other',
          `Cannot delete ${failed.Key ?? ''} in ${this.location}: ${failed.Code ?? ''} ${failed.Message ?? ''}. The credentials need s3:DeleteObject on bucket ${this.#bucket}.`,
        );
    }
  }

  /** undefined: the file ends before. `etag`: of the version that is read. */
  async #get(path: string, { from, length, etag }: WantedRange): Promise<RangeAnswer | undefined> {
    try {
      const answer = await this.#client.send(
        new GetObjectCommand({
          Bucket: this.#bucket,
          Key: this.#prefix + path,
          Range: `bytes=${String(from)}-${String(from + length - 1)}`,
        }),
      );
      // By the answer, because not every store compares If-Match of a read.
      const isOther = etag !== undefined && answer.ETag !== undefined && answer.ETag !== etag;
      const range = isOther ? undefined : rangeOf(answer, from);
      if (range !== undefined) return range;
      discard(answer);
      throw isOther ? this.#changed(path) : this.#noRange(path);
    } catch (error) {
      if (statusOf(error) === 416) return undefined;
      throw storeErrorOf(error, `read ${path}`, this.#place);
    }
  }

  #changed(path: string): StoreError {
    return new StoreError(
      'Changed',
      `${path} in ${this.location} was written again while it was read. Try again when nothing saves there.`,
    );
  }

  #noRange(path: string): StoreError {
    return new StoreError(
      'Other',
      `Cannot read ${path} in ${this.location}: the server ignores ranges, which S3 has. Use a store that supports them, or copy the save to a directory.`,
    );
  }

  async #ask<Answer>(doing: string, request: () => Promise<Answer>): Promise<Answer> {
    try {
      return await request();
    } catch (error) {
      throw storeErrorOf(error, doing, this.#place);
    }
  }
}

/** Requests wait here and not for a socket: the time that one waits for a socket counts as time in which the store does not answer. */
function limited(client: S3Client): S3Client {
  let running = 0;
  const waiting: (() => void)[] = [];
  client.middlewareStack.add(
    (next) => async (args) => {
      if (running >= MAX_CONNECTIONS) await new Promise<void>((resolve) => waiting.push(resolve));
      running++;
      try {
        return await next(args);
      } finally {
        running--;
        waiting.shift()?.();
      }
    },
    { step: 'initialize', name: 'limitRequests' },
  );
  return client;
}

function clientOf({ region, endpoint, credentials }: S3Options, silenceMs: number): S3Client {
  const client = new S3Client({
    // The name of the region matters to AWS alone.
    ...(region === undefined ? endpoint !== undefined && { region: 'us-east-1' } : { region }),
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(credentials && { credentials }),
    followRegionRedirects: true,
    // Other stores do not know the checksums that AWS computes unasked.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestChecksumCalculation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: Math.min(CONNECT_MS, silenceMs),
      requestTimeout: silenceMs,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets: MAX_CONNECTIONS },
      httpsAgent: { maxSockets: MAX_CONNECTIONS },
    },
  });
  return limited(client);
}

/** Bytes of a file. */
interface WantedRange {
  readonly from: number;
  readonly length: number;
  readonly etag: string | undefined;
}

/** The bytes that an answer carries. */
interface RangeAnswer {
  readonly body: NonNullable<GetObjectCommandOutput['Body']>;
  readonly length: number;
  readonly etag: string | undefined;
}

/** undefined: the answer does not begin at `from`. */
function rangeOf({ Body, ContentRange = '', ETag }: GetObjectCommandOutput, from: number): RangeAnswer | undefined {
  const [, first = NaN, last = NaN] = (/^bytes (\d+)-(\d+)\//.exec(ContentRange) ?? []).map(Number);
  return Body === undefined || first !== from ? undefined : { body: Body, length: last - first + 1, etag: ETag };
}

function statusOf(error: unknown): number | undefined {
  return error instanceof Error
    ? (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
    : undefined;
}

function discard({ Body }: GetObjectCommandOutput): void {
  if (Body !== undefined && 'destroy' in Body) Body.destroy();
}
