/** Counts what is in progress for each owner. An owner without anything in progress takes no memory. */
export class HeldPlaces {
  readonly #counts = new Map<string, number>();

  held(id: string): number {
    return this.#counts.get(id) ?? 0;
  }

  /** Takes a place, and gives what gives it back: once, however often it is called. */
  hold(id: string): () => void {
    this.#counts.set(id, this.held(id) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = this.held(id) - 1;
      if (left === 0) this.#counts.delete(id);
      else this.#counts.set(id, left);
    };
  }
}
