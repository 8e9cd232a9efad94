/** Splits a script of a shell into commands and words. It knows quotes, arrays, here-documents and compound commands, and runs nothing. */

/** A piece of a word in one kind of quotes. */
export interface RawSegment {
  readonly text: string;
  readonly quote: 'none' | 'single' | 'double';
}

/** A word as written. */
export interface RawWord {
  readonly raw: string;
  readonly segments: readonly RawSegment[];
  /** Of `NAME=(a b)`: the items. */
  readonly items?: readonly RawWord[];
}

/** A command as written. */
export interface RawCommand {
  readonly words: readonly RawWord[];
  readonly joinedBy: string;
  readonly within: 'script' | 'branch' | 'loop' | 'function';
  readonly hereDocument?: string;
}

/** Longest script that is read. */
const MAX_SCRIPT = 262_144;
const OPENS: Readonly<Record<string, RawCommand['within']>> = {
  if: 'branch',
  case: 'branch',
  for: 'loop',
  while: 'loop',
  until: 'loop',
  select: 'loop',
};
const CLOSES = new Set(['fi', 'esac', 'done', '}']);
/** The rest of such a command is a condition or a list, and not executed. */
const HEADS = new Set([...Object.keys(OPENS), 'elif', '[[', '((', '[', 'test']);
const BEFORE_A_COMMAND = new Set(['then', 'else', 'do', '{', '!', 'time']);

/** The commands of a script in their order, those of branches and loops too. */
export function scanScript(script: string): readonly RawCommand[] {
  const scanner = new Scanner(script.slice(0, MAX_SCRIPT).replaceAll('\r\n', '\n'));
  return scanner.commands();
}

class Scanner {
  readonly #text: string;
  #at = 0;
  readonly #found: RawCommand[] = [];
  readonly #open: RawCommand['within'][] = [];
  #words: RawWord[] = [];
  #joinedBy = '';
  #delimiters: { readonly word: string; readonly isIndented: boolean }[] = [];
  #hereDocument: string | undefined;
  /** Between the name of a function and its brace. */
  #isFunctionHead = false;

  constructor(text: string) {
    this.#text = text;
  }

  commands(): readonly RawCommand[] {
    while (this.#at < this.#text.length) this.#step();
    this.#end('');
    return this.#found;
  }

  #step(): void {
    const rest = this.#text.slice(this.#at, this.#at + 4);
    const blank = /^(?:[ \t]+|\\\n)/.exec(rest)?.[0];
    if (blank !== undefined) {
      this.#at += blank.length;
    } else if (rest.startsWith('#')) {
      const end = this.#text.indexOf('\n', this.#at);
      this.#at = end < 0 ? this.#text.length : end;
    } else if (rest.startsWith('\n')) {
      this.#at += 1;
      this.#readHereDocuments();
      this.#end('\n');
    } else if (rest.startsWith('((') && (this.#words.length === 0 || this.#words.at(-1)?.raw === 'for')) {
      // `for ((…))` and `((…))` count, and start nothing.
      const end = this.#text.indexOf('))', this.#at);
      this.#at = end < 0 ? this.#text.length : end + 2;
    } else if (/^(?:&&|\|\||;;|[;|()]|&(?!>))/.test(rest)) {
      const operator = /^(?:&&|\|\||;;|[;|&()])/.exec(rest)?.[0] ?? ';';
      this.#at += operator.length;
      this.#operator(operator);
    } else if (!this.#redirection()) {
      this.#word();
    }
  }

  #operator(operator: string): void {
    // `name() {` begins a function.
    if (operator === '(' && this.#words.length === 1 && /^\s*\)/.test(this.#text.slice(this.#at, this.#at + 20))) {
      this.#at = this.#text.indexOf(')', this.#at) + 1;
      this.#words = [];
      if (this.#isFunctionHead) return;
      this.#open.push('function');
      this.#isFunctionHead = true;
      return;
    }
    // The pattern of a case.
    if (operator === ')' && this.#open.at(-1) === 'branch' && this.#words.length === 1) this.#words = [];
    this.#end(operator);
  }

  #word(): void {
    const word = this.#readWord();
    if (word.raw === '') {
      this.#at += 1;
      return;
    }
    this.#words.push(word);
    if (this.#words.length === 1) this.#keyword(word.raw);
  }

  #keyword(raw: string): void {
    const opened = Object.hasOwn(OPENS, raw) ? OPENS[raw] : raw === 'function' ? 'function' : undefined;
    if (opened !== undefined) this.#open.push(opened);
    if (opened === 'function') this.#isFunctionHead = true;
    if (raw === '{' && !this.#isFunctionHead) this.#open.push(this.#open.at(-1) ?? 'script');
    if (raw === '{') this.#isFunctionHead = false;
    if (BEFORE_A_COMMAND.has(raw)) this.#words = [];
    if (CLOSES.has(raw)) {
      this.#open.pop();
      this.#words = [];
    }
  }

  /** `> file`, `2>&1`, `<<EOF`: no word of the command. */
  #redirection(): boolean {
    const rest = this.#text.slice(this.#at, this.#at + 200);
    const here = /^\d*<<(-?)\s*(\\?)(["']?)([\w.-]+)\3/.exec(rest);
    if (here !== null) {
      this.#delimiters.push({ word: here[4] ?? '', isIndented: here[1] === '-' });
      this.#at += here[0].length;
      return true;
    }
    const operator = /^(?:\d*(?:>>|>&|<&|>\||<<<|[<>])|&>>?)(?!\()\s*/.exec(rest);
    if (operator === null) return false;
    this.#at += operator[0].length;
    this.#readWord();
    return true;
  }

  #readHereDocuments(): void {
    for (const { word, isIndented } of this.#delimiters) {
      const lines: string[] = [];
      while (this.#at < this.#text.length) {
        const end = this.#text.indexOf('\n', this.#at);
        const line = this.#text.slice(this.#at, end < 0 ? undefined : end);
        this.#at = end < 0 ? this.#text.length : end + 1;
        if ((isIndented ? line.trimStart() : line) === word) break;
        lines.push(line);
      }
      this.#hereDocument = lines.join('\n');
    }
    this.#delimiters = [];
  }

  #end(operator: string): void {
    const [first] = this.#words;
    if (first !== undefined && !HEADS.has(first.raw) && first.raw !== 'function') {
      const within = this.#open.includes('function') ? 'function' : (this.#open.at(-1) ?? 'script');
      this.#found.push({
        words: this.#words,
        joinedBy: this.#joinedBy,
        within,
        ...(this.#hereDocument === undefined ? {} : { hereDocument: this.#hereDocument }),
      });
    }
    this.#hereDocument = undefined;
    this.#words = [];
    this.#joinedBy = operator;
  }

  #readWord(): RawWord {
    const from = this.#at;
    const segments: RawSegment[] = [];
    for (;;) {
      const segment = this.#segment();
      if (segment === undefined) break;
      const last = segments.at(-1);
      const isJoined = last?.quote === 'none' && segment.quote === 'none' && !/\]\}$/.test(last.text);
      if (isJoined) segments[segments.length - 1] = { quote: 'none', text: last.text + segment.text };
      else segments.push(segment);
      if (/^[A-Za-z_]\w*\+?=$/.test(this.#text.slice(from, this.#at)) && this.#text[this.#at] === '(') {
        this.#at += 1;
        const items = this.#items();
        return { raw: this.#text.slice(from, this.#at), segments, items };
      }
    }
    return { raw: this.#text.slice(from, this.#at), segments };
  }

  #items(): readonly RawWord[] {
    const items: RawWord[] = [];
    while (this.#at < this.#text.length) {
      const blank = /^(?:[\s]+|\\\n|#[^\n]*)/.exec(this.#text.slice(this.#at))?.[0];
      if (blank !== undefined) {
        this.#at += blank.length;
        continue;
      }
      if (this.#text[this.#at] === ')') {
        this.#at += 1;
        break;
      }
      const word = this.#readWord();
      if (word.raw === '') this.#at += 1;
      else items.push(word);
    }
    return items;
  }

  #segment(): RawSegment | undefined {
    const rest = this.#text.slice(this.#at);
    const single = /^'([^']*)'/.exec(rest);
    if (single !== null) return this.#taken(single[0], { text: single[1] ?? '', quote: 'single' });
    const double = /^"((?:[^"\\$]|\\[^]|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\$)*)"/.exec(rest);
    if (double !== null)
      return this.#taken(double[0], { text: (double[1] ?? '').replaceAll('\\\n', ''), quote: 'double' });
    const escaped = /^\\([^\n])/.exec(rest);
    if (escaped !== null) return this.#taken(escaped[0], { text: escaped[1] ?? '', quote: 'single' });
    const substitution =
      /^(?:\$\(\((?:[^()]|\([^()]*\))*\)\)|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|`[^`]*`)/.exec(
        rest,
      );
    if (substitution !== null) return this.#taken(substitution[0], { text: substitution[0], quote: 'none' });
    const plain = /^[^\s;&|()<>"'\\`$]+|^\$\w*|^\$[@*#?]/.exec(rest);
    return plain === null ? undefined : this.#taken(plain[0], { text: plain[0], quote: 'none' });
  }

  #taken(raw: string, segment: RawSegment): RawSegment {
    this.#at += raw.length;
    return segment;
  }
}
