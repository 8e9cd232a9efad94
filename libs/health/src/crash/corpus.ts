/** How often does the classifier agree with what people say of known error lines? */
import { CRASH_BLAMES, CRASH_CLASSES, type CrashBlame, type CrashClass } from '@coxswain/api-types';
import { z } from 'zod';
import { classifyCrash, type CrashJudgement } from './classify-crash.ts';

/** An error text with the blame that a person gives. */
const CorpusLine = z.strictObject({
  blame: z.enum(CRASH_BLAMES),
  class: z.enum(Object.keys(CRASH_CLASSES) as [CrashClass, ...CrashClass[]]).optional(),
  /** The last lines of the rank, oldest first. */
  text: z.string().min(1).max(16_384),
  /** The page or the file of a program that has the text. */
  source: z.string().min(1).max(512),
  /** The exit code of the process, or the signal that ended it. */
  end: z.union([z.int().min(0).max(255), z.string().regex(/^SIG[A-Z]{2,8}$/)]).default(1),
});
/** See {@link CorpusLine}, the schema. */
export type CorpusLine = z.infer<typeof CorpusLine>;

/** A corpus as a file has it. */
export const Corpus = z.array(CorpusLine).min(1).max(10_000);

/** A line that the classifier judges differently. */
interface WrongLine {
  readonly line: CorpusLine;
  readonly got: CrashJudgement;
}

/** Agreement of the classifier with a corpus. */
export interface CorpusScore {
  readonly lines: number;
  readonly right: number;
  /** Number of lines by expected blame and by the classifier's. */
  readonly confusion: Readonly<Record<CrashBlame, Readonly<Record<CrashBlame, number>>>>;
  readonly wrong: readonly WrongLine[];
}

/** Classifies each line. A line with a class is right only if the class is right, too. */
export function scoreCorpus(corpus: readonly CorpusLine[]): CorpusScore {
  const judged = corpus.map((line) => ({ line, got: classifyText(line.text, line.end) }));
  const wrong = judged.filter(({ line, got }) => got.blame !== line.blame || got.class !== (line.class ?? got.class));
  const count = (expected: CrashBlame, got: CrashBlame): number =>
    judged.filter((one) => one.line.blame === expected && one.got.blame === got).length;
  const row = (expected: CrashBlame): Record<CrashBlame, number> => byBlame((got) => count(expected, got));
  return { lines: corpus.length, right: corpus.length - wrong.length, confusion: byBlame(row), wrong };
}

/** Classifies the end of a process by what it wrote, and by its exit code or signal. */
export function classifyText(text: string, end: number | string): CrashJudgement {
  const lastLines = text.split('\n');
  return classifyCrash(typeof end === 'number' ? { lastLines, exitCode: end } : { lastLines, signal: end });
}

function byBlame<T>(valueOf: (blame: CrashBlame) => T): Record<CrashBlame, T> {
  return Object.fromEntries(CRASH_BLAMES.map((blame) => [blame, valueOf(blame)])) as Record<CrashBlame, T>;
}
