import { parse } from '../house/functions.ts';
import { canShrink, newFindings, shrunkBaseline } from './baseline.ts';
import { LONG_SENTENCE, makeFinder, type Finding } from './findings.ts';
import { proseOfMarkdown } from './markdown.ts';
import { paragraphsOf, sentencesOf, wordCount } from './prose.ts';
import { readStyleList } from './repository.ts';
import { proseOfSource } from './typescript-texts.ts';

const find = makeFinder(readStyleList());
const rulesIn = (text: string): string[] => find('messages', { path: 'a.ts', line: 1, text }).map(({ rule }) => rule);
const words = (count: number): string => `${Array.from({ length: count }, () => 'word').join(' ')}.`;

describe('the project’s list of words', () => {
  it.each([
    ['told', 'What they are told is kept.'],
    ['whoever', 'Whoever leads, decides.'],
    ['nobody of', 'Nobody of ours reads it.'],
    ['says to be', 'A node that it says to be ill.'],
    ['which it has not', 'Pipelines beside Ulysses, which it has not.'],
    ['in the middle of what', 'In the middle of what the ranks are now.'],
    ['of which', 'Jobs, of which two run.'],
    ['who waits', 'Order is by who waits longest.'],
    ['begun anew', 'The gang begins anew.'],
    ['is begun', 'The job is begun.'],
    ['that is none', 'A node that is none.'],
    ['a look', 'Seen from one look at the cluster.'],
    [LONG_SENTENCE, words(36)],
  ])('reports %s', (rule, text) => {
    expect(rulesIn(text)).toEqual([rule]);
  });

  it.each([
    [
      'the field’s own words',
      'The launcher reports the step. The operator restarts the job and resumes the checkpoint.',
    ],
    ['to look as a verb', 'Look at the logs of the pod.'],
    ['a sentence of 35 words', words(35)],
    ['part of another word', 'The retold story of an outlook.'],
  ])('accepts %s', (_, text) => {
    expect(rulesIn(text)).toEqual([]);
  });

  it('says what to write instead, and where', () => {
    const [finding] = find('docs', { path: 'docs/a.md', line: 7, text: 'It is told.' });
    expect(finding).toMatchObject({ kind: 'docs', path: 'docs/a.md', line: 7 });
    expect(finding?.advice).toMatch(/^"told": .*; write instead .*"the launcher reports"/);
  });
});

describe('sentences', () => {
  it.each([
    ['end at a full stop before a capital', 'One is here. Two is there.', ['One is here.', 'Two is there.']],
    [
      'do not end within a number or a name',
      'It took 3.5 s in layout.ts, e.g. here.',
      ['It took 3.5 s in layout.ts, e.g. here.'],
    ],
    ['end at a question', 'Does it fit? It does.', ['Does it fit?', 'It does.']],
  ])('%s', (_, text, sentences) => {
    expect(sentencesOf(text)).toEqual(sentences);
  });

  it('count what has a letter or a digit as a word', () => {
    expect(wordCount('80 % interval: -6 % to +6 % (dense, A100)')).toBe(7);
  });
});

describe('paragraphs', () => {
  const texts = (text: string): string[] => paragraphsOf('a', text).map((one) => one.text);

  it.each([
    ['end at an empty line', 'a\nb\n\nc', ['a b', 'c']],
    ['begin at a bullet', 'a\n- b\n  c\n- d', ['a', '- b c', '- d']],
    [
      'begin at an option of a program',
      'Usage\n  --port PORT   a port\n                that is free\n  --keep   all',
      ['Usage', '--port PORT   a port that is free', '--keep   all'],
    ],
    [
      'begin at each example below a colon',
      'Examples:\n  coxswain a\n  coxswain b',
      ['Examples:', 'coxswain a', 'coxswain b'],
    ],
  ])('%s', (_, text, want) => {
    expect(texts(text)).toEqual(want);
  });

  it('know their lines', () => {
    expect(paragraphsOf('a', 'a\n\nb', 10).map(({ line }) => line)).toEqual([10, 12]);
  });
});

describe('a page in Markdown', () => {
  it.each([
    ['is read without its code', 'a\n\n```\nwhat is told\n```\n\n    told\n\nb', ['a', 'b']],
    ['counts inline code as a word', 'Run `npm run told x` now', ['Run code now']],
    ['is read without addresses', '[the page](https://told.example/of/which)', ['the page']],
    ['has cells of tables that stand alone', '| a b | c |\n| --- | --- |\n| d | e |', ['a b', 'c', 'd', 'e']],
    ['is read without comments', 'a\n<!-- told -->\nb', ['a', 'b']],
  ])('%s', (_, text, want) => {
    expect(proseOfMarkdown('a.md', text).map((one) => one.text)).toEqual(want);
  });
});

describe('a source file', () => {
  const proseOf = (text: string, path = 'a.ts') => proseOfSource(parse({ path, text }));

  it.each([
    ['an error', "throw new DomainError('CONFLICT', 'the job is not there');", ['the job is not there']],
    ['a template, with its values', 'throw new GiveUp(`job ${a.b} of ${c} ended early`);', ['job X of X ended early']],
    ['strings that are joined', "f('the job has ' + n + ' ranks ' + 'too many');", ['the job has X ranks too many']],
    ['a property', "const a = { message: 'the job is not there' };", ['the job is not there']],
    ['the description of a schema', "z.string().describe('the name of a job');", ['the name of a job']],
    [
      'what a sentence function returns',
      'const f = (a) => (a ? `rank ${a} is too slow` : "it ended all by itself");',
      ['rank X is too slow', 'it ended all by itself'],
    ],
    [
      'a string within a value of a template',
      'g(`it ended ${a ? "because its node went away" : ""} early on`);',
      ['it ended X early on', 'because its node went away'],
    ],
  ])('has %s as a message', (_, text, want) => {
    expect(proseOf(text).messages.map((one) => one.text)).toEqual(want);
  });

  it('has the text of a page as a message', () => {
    expect(proseOf('const a = <p>The job is not there.</p>;', 'a.tsx').messages.map((one) => one.text)).toEqual([
      'The job is not there.',
    ]);
  });

  it.each([
    ['names', "const a = 'NoProgress'; const b = 'a b c';"],
    ['imports', "import a from './a path of four words.ts';"],
    ['types', "type A = 'one of the four words';"],
    ['SQL', 'query(`SELECT a FROM b WHERE c = d`); query(sql`told by a tagged template`);'],
  ])('has no messages in %s', (_, text) => {
    expect(proseOf(text).messages).toEqual([]);
  });

  it.each([
    [
      'doc comments, without their stars',
      '/**\n * What it does,\n * and why.\n */\nconst a = 1;',
      ['What it does, and why.'],
    ],
    ['line comments that follow each other as one', '// one\n// two\nconst a = 1; // three', ['one two', 'three']],
    ['none in strings', 'const a = "// no comment, is it"; const b = /\\/\\/ none/;', []],
  ])('has %s', (_, text, want) => {
    expect(proseOf(text).comments.map((one) => one.text)).toEqual(want);
  });

  it('knows on which line a message begins', () => {
    expect(proseOf("\n\nf('the job is not there');").messages.map(({ line }) => line)).toEqual([3]);
  });
});

describe('the baseline of messages', () => {
  const finding = (path: string): Finding => ({ kind: 'messages', path, line: 1, rule: 'told', advice: '' });

  it.each([
    ['allows what was there', ['a.ts', 'a.ts'], { 'a.ts': 2 }, 0],
    ['reports a file that has more, with all of its findings', ['a.ts', 'a.ts'], { 'a.ts': 1 }, 2],
    ['reports a file that it does not name', ['b.ts'], { 'a.ts': 1 }, 1],
  ])('%s', (_, paths, baseline, count) => {
    expect(newFindings(paths.map(finding), baseline)).toHaveLength(count);
  });

  it('shrinks, and forgets a file that has no finding any more', () => {
    expect(canShrink([finding('a.ts')], { 'a.ts': 2, 'b.ts': 1 })).toBe(true);
    expect(shrunkBaseline([finding('a.ts')], { 'a.ts': 2, 'b.ts': 1 })).toEqual({ 'a.ts': 1 });
  });

  it('follows a file that was renamed', () => {
    expect(shrunkBaseline([finding('new.ts')], { 'old.ts': 1 })).toEqual({ 'new.ts': 1 });
  });

  it('does not grow', () => {
    expect(() => shrunkBaseline([finding('a.ts'), finding('b.ts')], { 'a.ts': 1 })).toThrow(
      'The baseline allows 1 findings in messages and there are 2.',
    );
  });
});
