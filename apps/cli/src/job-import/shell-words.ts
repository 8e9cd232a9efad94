/**
 * How a shell splits a text into commands and words, as far as that is known without running it. shell-quote reads several of our tests' scripts
 * otherwise than a shell does (docs/adr/0124-keep-six-things-written-by-hand.md).
 */

/** A word: what it means where nothing in it is replaced, and as it was written. */
export interface ShellWord {
  readonly text: string;
  readonly raw: string;
  /** Nothing in it is for the shell to replace: no variable, no pattern, no redirection. */
  readonly isLiteral: boolean;
}

/** One command of a script. */
export interface ShellCommand {
  readonly words: readonly ShellWord[];
  /** What joins it to the command before: `&&`, `;`, `|` …; empty for the first. */
  readonly joinedBy: string;
}

const OPERATOR = /^(?:&&|\|\||;;|[;&|\n])/;
const QUOTED = /^(?:'[^']*'|"(?:[^"\\]|\\[^])*"|\\[^])/;
const REPLACED_IN_DOUBLE_QUOTES = /(?<!\\)(?:\\\\)*[$`]/;

/** The commands of a script; undefined where it has more form than commands in a row: loops, functions, here-documents, open quotes. */
export function shellCommands(script: string): readonly ShellCommand[] | undefined {
  const commands: { words: ShellWord[]; joinedBy: string }[] = [{ words: [], joinedBy: '' }];
  let rest = script.replaceAll(/\\\r?\n/g, ' ');
  while ((rest = rest.replace(/^(?:[ \t\r]|#[^\n]*)+/, '')) !== '') {
    const [operator] = OPERATOR.exec(rest) ?? [];
    if (operator !== undefined) {
      if (commands.at(-1)?.words.length !== 0) commands.push({ words: [], joinedBy: operator });
      else if (operator !== '\n' && operator !== ';') return undefined;
      rest = rest.slice(operator.length);
      continue;
    }
    const word = nextWord(rest);
    if (word === undefined) return undefined;
    commands.at(-1)?.words.push(word);
    rest = rest.slice(word.raw.length);
    if (/^[ \t\r\n;&|]/.test(rest) || rest === '') continue;
    return undefined;
  }
  const whole = commands.filter(({ words }) => words.length > 0);
  return whole.some(({ words: [first] }) => COMPOUND.has(first?.raw ?? '')) ? undefined : whole;
}

const COMPOUND = new Set(['if', 'for', 'while', 'until', 'case', 'select', 'function', '{', '!', 'do', 'then']);

/** The word at the beginning of the text; undefined where it begins with what only a shell understands. */
function nextWord(text: string): ShellWord | undefined {
  let [raw, meaning] = ['', ''];
  let isLiteral = true;
  let rest = text;
  while (rest !== '' && !/^[\s;|]/.test(rest)) {
    const redirection = /^(?:\d*>&\d|&>{1,2}|\d*>{1,2}|<(?!<))/.exec(rest)?.[0];
    const quoted = QUOTED.exec(rest)?.[0];
    const substitution = /^\$(?:\([^()]*\)|\{[^{}]*\})/.exec(rest)?.[0];
    const piece = redirection ?? quoted ?? substitution ?? rest.charAt(0);
    if (quoted === undefined && redirection === undefined && substitution === undefined && /["'`()&<]/.test(piece)) {
      if (piece === '&') break;
      return undefined;
    }
    isLiteral &&= quoted === undefined ? !/[$*?[~>]/.test(piece) && redirection === undefined : isPlain(quoted);
    meaning += quoted === undefined ? piece : unquoted(quoted);
    raw += piece;
    rest = rest.slice(piece.length);
  }
  return raw === '' ? undefined : { text: meaning, raw, isLiteral };
}

function isPlain(quoted: string): boolean {
  return !quoted.startsWith('"') || !REPLACED_IN_DOUBLE_QUOTES.test(quoted);
}

function unquoted(quoted: string): string {
  if (quoted.startsWith("'")) return quoted.slice(1, -1);
  if (quoted.startsWith('"')) return quoted.slice(1, -1).replaceAll(/\\([$`"\\\n])/g, '$1');
  return quoted.slice(1);
}

/** The text as one word of a shell. */
export function quotedWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
