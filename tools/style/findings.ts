import type { Prose, ProseKind } from './prose.ts';
import { sentencesOf, wordCount } from './prose.ts';

/** A word or phrase that the project does not use. */
export interface StyleWord {
  readonly name: string;
  /** A regular expression; case does not count. */
  readonly pattern: string;
  readonly why: string;
  readonly instead: string;
}

/** The frozen list: what counts as a finding. */
export interface StyleList {
  readonly mostWordsInSentence: number;
  readonly words: readonly StyleWord[];
}

/** Something that breaks the list. */
export interface Finding {
  readonly kind: ProseKind;
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  /** What was found, why it is on the list, and what to write instead. */
  readonly advice: string;
}

/** The rule of sentences that are too long; every other rule is the name of a word. */
export const LONG_SENTENCE = 'long sentence';

/** Returns what breaks the list in a piece of prose. */
export function makeFinder({ words, mostWordsInSentence }: StyleList): (kind: ProseKind, prose: Prose) => Finding[] {
  const patterns = words.map((word) => ({ ...word, regex: new RegExp(word.pattern, 'giu') }));
  return (kind, { path, line, text }) => [
    ...patterns.flatMap(({ name, regex, why, instead }) =>
      [...text.matchAll(regex)].map(([phrase]) => ({
        ...{ kind, path, line, rule: name },
        advice: `"${phrase}": ${why}; write instead ${instead}`,
      })),
    ),
    ...sentencesOf(text)
      .filter((sentence) => wordCount(sentence) > mostWordsInSentence)
      .map((sentence) => ({
        ...{ kind, path, line, rule: LONG_SENTENCE },
        advice: `${wordCount(sentence)} words in one sentence, at most ${mostWordsInSentence}: "${sentence.slice(0, 60)}..."`,
      })),
  ];
}
