import type { GetObjectCommandOutput } from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';

/** What came of the body of an answer. */
export interface ReadBody {
  readonly bytes: number;
  /** Why the rest did not come. */
  readonly broken?: unknown;
}

/** Reads a body into `target`, which it fits into. A connection that breaks, or is silent for `silenceMs`, leaves what came before. */
export async function readBody(
  body: NonNullable<GetObjectCommandOutput['Body']>,
  target: Uint8Array,
  silenceMs: number,
): Promise<ReadBody> {
  if (!(body instanceof Readable)) throw new TypeError('the AWS SDK gives no stream of Node.js');
  let bytes = 0;
  const silence = setTimeout(() => body.destroy(timeoutError(`no byte for ${String(silenceMs / 1000)} s`)), silenceMs);
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      silence.refresh();
      // A server that ignores the range sends more than was asked for.
      if (bytes + chunk.length > target.length) throw new RangeError('the server sends more bytes than were asked for');
      target.set(chunk, bytes);
      bytes += chunk.length;
    }
    return { bytes };
  } catch (error) {
    if (error instanceof RangeError) throw error;
    return { bytes, broken: error };
  } finally {
    clearTimeout(silence);
  }
}

function timeoutError(message: string): Error {
  const error = new Error(message);
  error.name = 'TimeoutError';
  return error;
}
