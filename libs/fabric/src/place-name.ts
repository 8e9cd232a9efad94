/** Longest name that a table or a picture shows. */
const MOST_CHARACTERS = 24;

/** The name of a switch, domain or island as a person calls it: without the switches above it and the label that it was read from. */
export function placeName(name: string): string {
  const own = name.slice(name.lastIndexOf('=') + 1);
  return own.length <= MOST_CHARACTERS ? own : `${own.slice(0, 8)}…${own.slice(-(MOST_CHARACTERS - 9))}`;
}
