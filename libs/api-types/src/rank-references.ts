/** How does a rendered text name a variable of its rank? `$(NAME)` stands for the variable, and `$$` is a dollar sign, as in a pod's manifest. */

const REFERENCE = /\$(?:\$|\(([A-Za-z_][A-Za-z0-9_]*)\))/g;

/** `text` with `valueOf(name)` in place of each reference, which stays where that is undefined, and `dollar` in place of two dollar signs. Read once, not again. */
export function replaceReferences(text: string, valueOf: (name: string) => string | undefined, dollar = '$'): string {
  return text.replaceAll(REFERENCE, (whole, name: string | undefined) =>
    name === undefined ? dollar : (valueOf(name) ?? whole),
  );
}

/** Every variable that the text refers to, in order and as often. */
export function referencesIn(text: string): readonly string[] {
  return [...text.matchAll(REFERENCE)].flatMap(([, name]) => name ?? []);
}
