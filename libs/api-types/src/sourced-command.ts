/** How is a program started after a script of its runtime has set variables for it? */

/** bash reads the script that follows, and the program that follows that takes its place: signals and exit codes are the program's own. */
const SOURCE_AND_BECOME = ['/bin/bash', '-c', '. "$0" && exec "$@"'] as const;

/** The program with `script` sourced before it. */
export function sourcedCommand(script: string, program: readonly string[]): readonly string[] {
  return [...SOURCE_AND_BECOME, script, ...program];
}

/** What stands before the program in such a command, nothing in any other, and the program. */
export function partsOfSourced(command: readonly string[]): {
  readonly before: readonly string[];
  readonly program: readonly string[];
} {
  const isSourced = SOURCE_AND_BECOME.every((word, index) => command[index] === word);
  const length = isSourced ? SOURCE_AND_BECOME.length + 1 : 0;
  return { before: command.slice(0, length), program: command.slice(length) };
}
