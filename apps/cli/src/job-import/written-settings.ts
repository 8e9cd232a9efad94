/** A setting of a program, as it is written and by its name. */
export interface WrittenSetting {
  readonly name: string;
  readonly value: string;
  readonly written: string;
}

/** The settings among the words of a program that are wanted by name: options with a value in this or the next word, and switches. */
export function writtenSettings(
  words: readonly string[],
  isWanted: (name: string) => boolean,
): readonly WrittenSetting[] {
  return words.flatMap((word, index) => {
    const [, name = '', inline] = /^(?:--?|\+{1,2})?([A-Za-z_][\w.-]*)(?:=([^]*))?$/.exec(word) ?? [];
    const isOption = word.startsWith('-') || inline !== undefined;
    if (!isOption || !isWanted(name)) return [];
    const next = words[index + 1];
    const value = inline ?? (next === undefined || next.startsWith('-') ? 'true' : next);
    return [{ name, value, written: inline === undefined && value === next ? `${word} ${next}` : word }];
  });
}
