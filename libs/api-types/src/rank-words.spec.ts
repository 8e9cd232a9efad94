/** Ranks, ranges and references as texts: read, written, and what is rejected. */
import { formatRanks, parseRanks, RANK_RANGES, rankIsIn } from './rank-ranges.ts';
import { referencesIn, replaceReferences } from './rank-references.ts';
import { ProcessGroup, RANK_SET, RankCollectives, RankWatermark } from './rank-watermarks.ts';
import { partsOfSourced, sourcedCommand } from './sourced-command.ts';
import { type Bound, letters, listOf, refusedFields, withField } from './testing/one-field.ts';

describe('ranks in ranges', () => {
  it.each<[string, readonly number[]]>([
    ['', []],
    ['0', [0]],
    ['0-1', [0, 1]],
    ['0-3,8', [0, 1, 2, 3, 8]],
    ['0,2,4', [0, 2, 4]],
    ['0-3,8-11', [0, 1, 2, 3, 8, 9, 10, 11]],
    ['16383', [16_383]],
  ])('%j stands for %j, and is written for it', (text, ranks) => {
    expect(parseRanks(text, 16)).toEqual(ranks);
    expect(formatRanks(ranks)).toBe(text);
  });

  it.each<[string, number, readonly number[]]>([
    ['0-9', 4, [0, 1, 2, 3]],
    ['0-9,20-29', 2, [0, 1, 20, 21]],
    ['5-3', 4, []],
    ['3-3', 4, [3]],
  ])('%j is read up to %d of each range: %j', (text, most, ranks) => {
    expect(parseRanks(text, most)).toEqual(ranks);
  });

  it.each<[string, boolean]>([
    ['', true],
    ['0-7', true],
    ['99999', true],
    ['100000', false],
    ['0-100000', false],
    ['0,', false],
    [',0', false],
    ['0 - 7', false],
    ['a', false],
    ['0-7\n', false],
  ])('%j is a list of ranges: %s', (text, want) => {
    expect(RANK_RANGES.test(text)).toBe(want);
  });

  it.each<[number, string, boolean]>([
    [0, '0', true],
    [3, '0-3,8', true],
    [4, '0-3,8', false],
    [8, '0-3,8', true],
    [9, '0-3,8', false],
    [7, '8-11', false],
    [8, '8-11', true],
    [11, '8-11', true],
    [12, '8-11', false],
    [0, '', false],
  ])('rank %d is in %j: %s', (rank, text, want) => {
    expect(rankIsIn(rank, text)).toBe(want);
  });
});

describe('a set of ranks of a process group', () => {
  it.each<[string, boolean]>([
    ['0', true],
    ['0-7', true],
    ['0-56/8', true],
    ['0,8,17', true],
    ['0-3,8-56/8', true],
    ['', false],
    ['0/8', false],
    ['0-56/', false],
    ['0-56/8/2', false],
    ['-7', false],
    ['0,,8', false],
  ])('%j is one: %s', (text, want) => {
    expect(RANK_SET.test(text)).toBe(want);
  });
});

describe('references to variables of a rank', () => {
  const valueOf = (name: string): string | undefined => ({ RANK: '3', EMPTY: '' })[name];
  it.each<[string, string, string]>([
    ['a reference becomes its value', '--rank=$(RANK)', '--rank=3'],
    ['two references become two values', '$(RANK)-$(RANK)', '3-3'],
    ['an empty value stays empty', 'a$(EMPTY)b', 'ab'],
    ['an unknown one stays', '$(OTHER)', '$(OTHER)'],
    ['two dollar signs are one', '$$', '$'],
    ['two dollar signs keep what follows', '$$(RANK)', '$(RANK)'],
    ['three dollar signs are one and a reference', '$$$(RANK)', '$3'],
    ['one dollar sign stays', 'a$b', 'a$b'],
    ['braces are for shells', '${RANK}', '${RANK}'],
    ['a name begins with a letter', '$(1A)', '$(1A)'],
    ['an open bracket is text', '$(RANK', '$(RANK'],
  ])('%s', (_sentence, text, want) => {
    expect(replaceReferences(text, valueOf)).toBe(want);
  });

  it('are not read again in what they become', () => {
    expect(replaceReferences('$(A)', (name) => (name === 'A' ? '$(B)' : 'wrong'))).toBe('$(B)');
  });

  it('keep two dollar signs if another reader follows', () => {
    expect(replaceReferences('$$(RANK) $(RANK)', valueOf, '$$')).toBe('$$(RANK) 3');
  });

  it.each<[string, readonly string[]]>([
    ['$(RANK) of $(WORLD_SIZE), $(RANK)', ['RANK', 'WORLD_SIZE', 'RANK']],
    ['$$(RANK)', []],
    ['$$$(RANK)', ['RANK']],
    ['plain', []],
  ])('are found in %j: %j', (text, names) => {
    expect(referencesIn(text)).toEqual(names);
  });
});

describe('a program with a script before it', () => {
  it('is started by bash, which it replaces', () => {
    expect(sourcedCommand('/etc/nccl.sh', ['python3', '-m', 'train'])).toEqual([
      '/bin/bash',
      '-c',
      '. "$0" && exec "$@"',
      '/etc/nccl.sh',
      'python3',
      '-m',
      'train',
    ]);
  });

  it.each<[string, readonly string[], number]>([
    ['nothing stands before a program of its own', ['python3', 'a.py'], 0],
    ['the script stands before the program', ['/bin/bash', '-c', '. "$0" && exec "$@"', '/s', 'python3', 'a.py'], 4],
    ['another line of bash is the program itself', ['/bin/bash', '-c', 'echo', '/s'], 0],
    ['no program has nothing before it', [], 0],
  ])('%s', (_sentence, command, words) => {
    expect(partsOfSourced(command)).toEqual({ before: command.slice(0, words), program: command.slice(words) });
  });
});

describe('what a rank reports of itself', () => {
  const group = { group: '12', operation: 'all_reduce', bytes: 8, enqueued: 3, started: 2, completed: 1, ageMs: 5 };
  const watermark = { rank: 0, step: 1, phase: 'training', phaseAgeMs: 5, groups: [group] };
  const timing = { group: '12', operation: 'all_reduce', bytes: 8, count: 1, medianMs: 1, maxMs: 2 };

  it.each<Bound>([
    ['rank', 'below the largest world size', 32_767, 32_768],
    ['step', 'null before the first', null, undefined],
    ['phase', 'one of six', 'evaluating', 'resting'],
    ['phaseAgeMs', 'at least 0', 0, -1],
    ['groups', 'at most 32', listOf(32, group), listOf(33, group)],
    ['groups.0.group', 'not empty', 'g', ''],
    ['groups.0.group', 'at most 64 characters', letters(64), letters(65)],
    ['groups.0.operation', 'at most 32 characters', letters(32), letters(33)],
    ['groups.0.enqueued', 'at least 0', 0, -1],
    ['groups.0.ageMs', 'at most a trillion', 1e12, 2e12],
    ['groups.0.completed', 'not left out', 0, undefined],
    ['mood', 'not known', undefined, 'good'],
  ])('%s of a watermark is %s', (field, _rule, kept, broken) => {
    expect(refusedFields(RankWatermark, withField(watermark, field, kept))).toEqual([]);
    expect(refusedFields(RankWatermark, withField(watermark, field, broken))).toEqual([field]);
  });

  it.each<Bound>([
    ['groups.0.count', 'at least 1', 1, 0],
    ['groups.0.count', 'at most a million', 1_000_000, 1_000_001],
    ['groups.0.medianMs', 'at least 0', 0, -1],
    ['groups', 'at most 32', listOf(32, timing), listOf(33, timing)],
  ])('%s of collectives is %s', (field, _rule, kept, broken) => {
    const collectives = { rank: 0, groups: [timing] };
    expect(refusedFields(RankCollectives, withField(collectives, field, kept))).toEqual([]);
    expect(refusedFields(RankCollectives, withField(collectives, field, broken))).toEqual([field]);
  });

  it.each<Bound>([
    ['name', 'at most 64 characters', letters(64), letters(65)],
    ['ranks', 'ranks and ranges', '0-56/8', '0..7'],
    ['ranks', 'at most 8192 characters', `${'10,'.repeat(2730)}10`, `${'10,'.repeat(2731)}10`],
  ])('%s of a process group is %s', (field, _rule, kept, broken) => {
    const processGroup = { group: '12', name: 'tensor', ranks: '0-7' };
    expect(refusedFields(ProcessGroup, withField(processGroup, field, kept))).toEqual([]);
    expect(refusedFields(ProcessGroup, withField(processGroup, field, broken))).toEqual([field]);
  });
});
