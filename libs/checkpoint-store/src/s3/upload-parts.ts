import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { FileChunks } from '../checkpoint-store.ts';

/** Where an upload goes. */
export interface UploadTarget {
  readonly Bucket: string;
  readonly Key: string;
  readonly IfNoneMatch?: string;
}

/** Parts after which a part doubles, so that 10,000 parts hold more than any file. */
const PARTS_OF_A_SIZE = 1000;

/**
 * Uploads a file in parts of `partBytes`, one after the other. Returns the bytes instead, and uploads nothing, if they fit into one part. If
 * it fails, no part is left.
 */
export async function uploadParts(
  client: S3Client,
  { IfNoneMatch, ...target }: UploadTarget,
  chunks: FileChunks,
  partBytes: number,
): Promise<Uint8Array | undefined> {
  const parts = partsOf(chunks, partBytes);
  const first = await parts.next();
  if (first.done === true) return new Uint8Array();
  const second = await parts.next();
  if (second.done === true) return first.value;
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target));
  const upload = { ...target, UploadId };
  try {
    const Parts: { readonly PartNumber: number; readonly ETag: string | undefined }[] = [];
    const send = async (Body: Uint8Array): Promise<void> => {
      const PartNumber = Parts.length + 1;
      const { ETag } = await client.send(new UploadPartCommand({ ...upload, PartNumber, Body }));
      Parts.push({ PartNumber, ETag });
    };
    await send(first.value);
    await send(second.value);
    for await (const part of parts) await send(part);
    await client.send(
      new CompleteMultipartUploadCommand({
        ...upload,
        MultipartUpload: { Parts },
        ...(IfNoneMatch !== undefined && { IfNoneMatch }),
      }),
    );
    return undefined;
  } catch (error) {
    // Its parts would be paid for. The first error matters more than one of the clean-up.
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw error;
  }
}

const FIRST_BYTES = 256 << 10;

function grown(part: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length);
  larger.set(part);
  return larger;
}

async function* partsOf(chunks: FileChunks, partBytes: number): AsyncGenerator<Uint8Array, undefined> {
  let size = partBytes;
  // Most files are small, and hundreds are written at a time: the first part grows with what comes.
  let part = new Uint8Array(Math.min(size, FIRST_BYTES));
  let filled = 0;
  let parts = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      if (filled === part.length)
        part = grown(part, Math.min(size, Math.max(2 * part.length, filled + chunk.length - at)));
      const piece = chunk.subarray(at, at + part.length - filled);
      part.set(piece, filled);
      filled += piece.length;
      at += piece.length;
      if (filled < size) continue;
      yield part;
      parts++;
      size = partBytes * 2 ** Math.floor(parts / PARTS_OF_A_SIZE);
      part = new Uint8Array(size);
      filled = 0;
    }
  }
  if (filled > 0) yield part.subarray(0, filled);
}
