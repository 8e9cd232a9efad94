import type { GetObjectCommandOutput } from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';

/** What came of the body of an answer. */
export interface ReadBody {
  readonly bytes: number;
  /** Why the rest did not come. */
  readonly broken?: unknown;
}

/** Reads a body that fills `target`. A connection that ends early, breaks, or is silent for `silenceMs` leaves what came before. */
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
      // A server can send more than its header says; the rest belongs to no file.
      const part = chunk.subarray(0, target.length - bytes);
      target.set(part, bytes);
      bytes += part.length;
    }
    if (bytes < target.length) return { bytes, broken: timeoutError('the connection ended early') };
    return { bytes };
  } catch (error) {
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
