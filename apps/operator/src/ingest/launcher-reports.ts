import type { PlacedLauncher } from '@coxswain/lifecycle';

/** What a launcher says of the ranks of its pod, and whose it is. */
export interface LauncherWord extends PlacedLauncher {
  readonly jobUid: string;
  readonly podUid: string;
}

/** The newest word of each launcher that has said something since the last look; bounded by the number of pods. */
export class LauncherWords {
  #words = new Map<string, LauncherWord>();

  note(word: LauncherWord): void {
    this.#words.set(word.podUid, word);
  }

  /** Whether there is something that nobody was told yet. */
  get hasNew(): boolean {
    return this.#words.size > 0;
  }

  take(): readonly LauncherWord[] {
    const words = [...this.#words.values()];
    this.#words = new Map();
    return words;
  }
}
