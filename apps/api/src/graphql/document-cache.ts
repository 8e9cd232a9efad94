import { type DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';

/** A longer document is read anew each time: programs repeat short ones, and a long one costs the sender more than us. */
export const MAX_KEPT_CHARACTERS = 2_000;
/**
 * What a parsed document takes in memory, per character of its text. Measured on documents of the densest kind, whose words are single letters: 250 to 290;
 * on ordinary ones: 100 to 140.
 */
export const BYTES_PER_CHARACTER = 300;
/** Of the documents of all clients together. */
export const MAX_CACHE_BYTES = 8 * 1024 * 1024;

/** Documents that were found valid, by their text; those that were asked for longest ago make room. */
export class DocumentCache {
  readonly #documents = new LRUCache<string, DocumentNode>({
    maxSize: MAX_CACHE_BYTES,
    sizeCalculation: (_document, text) => weightOf(text),
  });

  /** Bytes of memory, by the weight above. */
  get bytes(): number {
    return this.#documents.calculatedSize;
  }

  get(text: string): DocumentNode | undefined {
    return this.#documents.get(text);
  }

  /** Keeps it, unless its text is long. */
  keep(text: string, document: DocumentNode): void {
    if (text.length <= MAX_KEPT_CHARACTERS) this.#documents.set(text, document);
  }
}

/** The text is kept as well, with two bytes a character at most. */
function weightOf(text: string): number {
  return text.length * (BYTES_PER_CHARACTER + 2);
}
