/** The classifier as a table: each line of the corpus is a row. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CRASH_CLASSES } from '@coxswain/api-types';
import { parse } from 'yaml';
import { classifyText, Corpus, type CorpusLine, scoreCorpus } from './corpus.ts';
import { LOG_PATTERNS } from './log-patterns.ts';

const corpusOf = (name: string): readonly CorpusLine[] =>
  Corpus.parse(parse(readFileSync(join(import.meta.dirname, '../../corpus', name), 'utf8')));
const known = corpusOf('known.yaml');

describe('a known error line', () => {
  it.each(known.map((line) => [line.class ?? line.blame, line.text.split('\n').at(-1)?.slice(0, 100), line] as const))(
    'shows %s: %s',
    (_class, _text, line) => {
      const { class: name, blame } = classifyText(line.text, line.end);
      expect([blame, name]).toEqual([line.blame, line.class]);
    },
  );

  it('has a row for every class that a pattern names, from at least 200 lines', () => {
    const shown = new Set(known.map((line) => line.class));
    expect(LOG_PATTERNS.map(({ class: name }) => name).filter((name) => !shown.has(name))).toEqual([]);
    expect(known.length).toBeGreaterThanOrEqual(200);
  });

  it('is in one corpus only', () => {
    const texts = new Set(known.map(({ text }) => text));
    expect(
      corpusOf('held-out.yaml')
        .map(({ text }) => text)
        .filter((text) => texts.has(text)),
    ).toEqual([]);
  });
});

describe('lines that no pattern was written for', () => {
  const { lines, right, confusion } = scoreCorpus(corpusOf('held-out.yaml'));

  it('are right at least 19 times in 20', () => {
    expect(right / lines).toBeGreaterThanOrEqual(0.95);
  });

  it('blame the program for at most 3 % of what is not its doing', () => {
    const ofOthers = Object.entries(confusion).filter(([expected]) => expected !== 'program');
    const all = ofOthers.flatMap(([, row]) => Object.values(row)).reduce((sum, count) => sum + count, 0);
    const onProgram = ofOthers.reduce((sum, [, row]) => sum + row.program, 0);
    expect(onProgram / all).toBeLessThanOrEqual(0.03);
  });

  it('never excuse the program', () => {
    const { program, ...others } = confusion.program;
    expect(program).toBeGreaterThan(0);
    expect(Object.values(others).every((count) => count === 0)).toBe(true);
  });
});

it('a score counts by expected and given blame, and lists what is wrong', () => {
  const source = 'made for this test';
  const { right, confusion, wrong } = scoreCorpus([
    { blame: 'program', text: "KeyError: 'x'", source, end: 1 },
    { blame: 'program', text: 'No route to host', source, end: 1 },
    { blame: 'network', class: 'NetworkError', text: 'No route to host', source, end: 'SIGKILL' },
  ]);
  expect(right).toBe(1);
  expect(confusion.program).toMatchObject({ program: 1, network: 1 });
  expect(wrong.map(({ got }) => got.class)).toEqual(['NetworkError', 'Killed']);
});

it('advice fits into a sentence of a judgement', () => {
  for (const { advice } of Object.values(CRASH_CLASSES)) expect(advice.length).toBeLessThan(256);
});
