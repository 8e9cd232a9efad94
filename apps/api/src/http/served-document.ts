import { constants, gzipSync } from 'node:zlib';
import { etagOf } from './etag.ts';

/** One form of a document: its bytes as they are sent, and their tag. */
export interface DocumentForm {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly encoding: 'gzip' | undefined;
}

/** A document that never changes: written, compressed and hashed once. Every answer shares its bytes. */
export class ServedDocument {
  readonly #plain: DocumentForm;
  readonly #gzip: DocumentForm;

  constructor(document: object) {
    const plain = Buffer.from(JSON.stringify(document));
    const gzip = gzipSync(plain, { level: constants.Z_BEST_COMPRESSION });
    this.#plain = { bytes: plain, etag: etagOf(plain), encoding: undefined };
    this.#gzip = { bytes: gzip, etag: etagOf(gzip), encoding: 'gzip' };
  }

  /** The form that a client with this `Accept-Encoding` gets. */
  formFor(acceptEncoding: string | undefined): DocumentForm {
    return acceptsGzip(acceptEncoding) ? this.#gzip : this.#plain;
  }
}

function acceptsGzip(header = ''): boolean {
  return header
    .slice(0, 1_000)
    .split(',')
    .some((item) => {
      const [coding = '', quality = ''] = item.split(';').map((part) => part.trim().toLowerCase());
      return (coding === 'gzip' || coding === '*') && !/^q=0(\.0*)?$/.test(quality);
    });
}
