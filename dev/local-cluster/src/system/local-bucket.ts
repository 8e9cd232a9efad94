import type { CodeBucket } from '@coxswain/api-types';
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { dirname, join, relative } from 'node:path';

const BUCKET = 'code';
/** Of one request; an archive of code has at most 64 MiB. */
const MAX_BODY_BYTES = 128 << 20;

/** A bucket on this machine. */
export interface LocalBucket {
  /** As API and operator are given it. */
  readonly code: CodeBucket;
  stop(): Promise<void>;
}

/**
 * Starts an S3 server with one bucket, kept in `directory`. It has what archives of code need, checks no signature, and listens on 127.0.0.1 alone. So a
 * program can be shipped with a job on a machine without MinIO, and without Go to build another server.
 */
export async function startLocalBucket(directory: string): Promise<LocalBucket> {
  mkdirSync(directory, { recursive: true });
  const parts = new Map<string, Map<number, Buffer>>();
  const server = createServer((request, response) => {
    answer({ request, response, directory, parts }).catch((error: unknown) => {
      response.writeHead(500).end(error instanceof Error ? error.message : String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    code: {
      uri: `s3://${BUCKET}/archives`,
      endpoint: `http://127.0.0.1:${String(port)}`,
      region: undefined,
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly directory: string;
  /** Of uploads under way. */
  readonly parts: Map<string, Map<number, Buffer>>;
}

async function answer({ request, response, directory, parts }: Asked): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const [, bucket, ...words] = url.pathname.split('/').map(decodeURIComponent);
  const key = words.join('/');
  if (bucket !== BUCKET || !isBelow(key)) return void problem(response, 404, 'NoSuchBucket');
  const place = join(directory, key);
  const upload = url.searchParams.get('uploadId');
  switch (`${request.method ?? ''}${key === '' ? ' bucket' : ''}`) {
    case 'PUT': {
      const body = await bodyOf(request);
      const part = Number(url.searchParams.get('partNumber'));
      if (upload === null) write(place, body);
      else parts.get(upload)?.set(part, body);
      return void response.writeHead(200, { etag: etagOf(body) }).end();
    }
    case 'POST': {
      if (upload === null) {
        const id = randomUUID();
        parts.set(id, new Map());
        return void xml(
          response,
          `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
        );
      }
      await bodyOf(request);
      const whole = [...(parts.get(upload) ?? [])].sort(([one], [other]) => one - other).map(([, body]) => body);
      parts.delete(upload);
      write(place, Buffer.concat(whole));
      return void xml(response, '<CompleteMultipartUploadResult/>');
    }
    case 'DELETE':
      if (upload === null) rmSync(place, { force: true });
      else parts.delete(upload);
      return void response.writeHead(204).end();
    case 'GET':
      return read(place, request, response);
    case 'GET bucket':
      return list(directory, url.searchParams.get('prefix') ?? '', response);
    case 'POST bucket': {
      const text = (await bodyOf(request)).toString();
      for (const [, name = ''] of text.matchAll(/<Key>([^<]*)<\/Key>/g))
        if (isBelow(name)) rmSync(join(directory, name), { force: true });
      return void xml(response, '<DeleteResult/>');
    }
    default:
      problem(response, 405, 'MethodNotAllowed');
  }
}

/** A slash may have been escaped, so the words are those of the whole key. */
function isBelow(key: string): boolean {
  return !key.split('/').includes('..') && !key.includes('\0');
}

function read(place: string, request: IncomingMessage, response: ServerResponse): void {
  let body: Buffer;
  try {
    body = readFileSync(place);
  } catch {
    return problem(response, 404, 'NoSuchKey');
  }
  const [, from = '', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  if (from === '') return void response.writeHead(200, { etag: etagOf(body) }).end(body);
  if (Number(from) >= body.length) return problem(response, 416, 'InvalidRange');
  const last = Math.min(body.length - 1, to === '' ? Infinity : Number(to));
  const range = `bytes ${from}-${String(last)}/${String(body.length)}`;
  response.writeHead(206, { etag: etagOf(body), 'content-range': range }).end(body.subarray(Number(from), last + 1));
}

function list(directory: string, prefix: string, response: ServerResponse): void {
  const rows = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => relative(directory, path).startsWith(prefix))
    .map((path) => {
      const { size, mtime } = statSync(path);
      return `<Contents><Key>${relative(directory, path)}</Key><Size>${String(size)}</Size><LastModified>${mtime.toISOString()}</LastModified></Contents>`;
    });
  xml(response, `<ListBucketResult><IsTruncated>false</IsTruncated>${rows.join('')}</ListBucketResult>`);
}

/** Whole or not at all: a reader may come while it is written. */
function write(place: string, body: Buffer): void {
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(`${place}.part`, body);
  renameSync(`${place}.part`, place);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Error(`a request of more than ${String(MAX_BODY_BYTES)} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const etagOf = (body: Buffer): string => `"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`;

function xml(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?>${text}`);
}

function problem(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' }).end(`<Error><Code>${code}</Code></Error>`);
}
