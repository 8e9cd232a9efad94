/** A reader of a stream that may leave something unread. */
export interface UnreadReader {
  /** Whose share its unread bytes take: a project, or an administrator. */
  readonly owner: string;
  /** Now. */
  readonly unreadBytes: number;
  /** Cuts its connection: what it has not read is dropped. */
  cut(): void;
}

/**
 * Bounds what readers of streams leave unread, all together and of each owner. Above a bound the reader with the most unread bytes loses its connection:
 * of the owner that is above its share, or of the owner with the most. It reconnects and goes on where it was. Bytes that several readers share count for each.
 */
export class UnreadBytes {
  readonly #most: number;
  readonly #mostOfOwner: number;
  /** Readers with unread bytes, as they were last noted. */
  readonly #noted = new Map<UnreadReader, number>();
  readonly #ofOwners = new Map<string, number>();
  #sum = 0;

  constructor({ most, mostOfOwner }: { readonly most: number; readonly mostOfOwner: number }) {
    this.#most = most;
    this.#mostOfOwner = mostOfOwner;
  }

  /** As it was last noted. */
  get bytes(): number {
    return this.#sum;
  }

  /** To be called when a reader was sent something. */
  note(reader: UnreadReader): void {
    this.#set(reader, reader.unreadBytes);
    if (!this.#isOver(reader.owner)) return;
    // What was noted may have been read since.
    for (const known of [...this.#noted.keys()]) this.#set(known, known.unreadBytes);
    while (this.#ofOwner(reader.owner) > this.#mostOfOwner) this.#cutLargestOf(reader.owner);
    while (this.#sum > this.#most) this.#cutLargestOf(this.#largestOwner());
  }

  forget(reader: UnreadReader): void {
    this.#set(reader, 0);
  }

  #isOver(owner: string): boolean {
    return this.#sum > this.#most || this.#ofOwner(owner) > this.#mostOfOwner;
  }

  #ofOwner(owner: string): number {
    return this.#ofOwners.get(owner) ?? 0;
  }

  #largestOwner(): string {
    const [first] = [...this.#ofOwners].toSorted(([, a], [, b]) => b - a);
    return first?.[0] ?? '';
  }

  #cutLargestOf(owner: string): void {
    const readers = [...this.#noted].filter(([reader]) => reader.owner === owner);
    const [largest] = readers.toSorted(([, a], [, b]) => b - a);
    if (largest === undefined) throw new Error('an owner without readers has unread bytes');
    this.forget(largest[0]);
    largest[0].cut();
  }

  #set(reader: UnreadReader, bytes: number): void {
    const change = bytes - (this.#noted.get(reader) ?? 0);
    this.#sum += change;
    const ofOwner = this.#ofOwner(reader.owner) + change;
    if (bytes === 0) this.#noted.delete(reader);
    else this.#noted.set(reader, bytes);
    if (ofOwner === 0) this.#ofOwners.delete(reader.owner);
    else this.#ofOwners.set(reader.owner, ofOwner);
  }
}
