import { aLayout } from '@coxswain/layout/testing';
import { ranksOfSet } from './rank-set.ts';
import { readHeader, readRecord, unknownRank } from './read-line.ts';
import type { TraceHeader, TraceRecord } from './records.ts';

const HEADER: TraceHeader = {
  kind: 'header',
  version: 1,
  layout: aLayout({ dataParallelDegree: 4 }),
  nodes: [{ node: 'a', ranks: '0-3' }],
  reportEveryMs: 5_000,
};
const WATERMARK = {
  rank: 1,
  step: 7,
  phase: 'training',
  phaseAgeMs: 900,
  groups: [{ group: '3', operation: 'all_reduce', bytes: 4096, enqueued: 9, started: 9, completed: 8, ageMs: 12.5 }],
};
const TIMING = { rank: 0, stepTimeMs: 100, timingsMs: { forward: 30, backward: 60, communication: 10 } };

describe('a line of a trace', () => {
  it.each<[string, object]>([
    ['a process group', { kind: 'group', group: '3', name: 'tensor', ranks: '0-2/2' }],
    ['a step of a pod', { kind: 'step', atMs: 1, step: 8, loss: 2.5, gradNorm: null, ranks: [TIMING] }],
    ['a loss that is no number', { kind: 'step', atMs: 1, step: 8, loss: 'NaN', gradNorm: 'Infinity', ranks: [] }],
    [
      'a step with the work of its ranks',
      { kind: 'step', atMs: 1, step: 8, loss: null, gradNorm: null, ranks: [], work: [{ rank: 1, squaredTokens: 9 }] },
    ],
    ['watermarks', { kind: 'watermarks', atMs: 1, ranks: [WATERMARK] }],
    [
      'times of collectives',
      {
        kind: 'collectives',
        atMs: 1,
        ranks: [
          { rank: 0, groups: [{ group: '3', operation: 'all_reduce', bytes: 1, count: 2, medianMs: 3, maxMs: 4 }] },
        ],
      },
    ],
    ['a heartbeat', { kind: 'heartbeat', atMs: 1, ranks: [{ rank: 0, step: null }] }],
    ['a tick', { kind: 'tick', atMs: 1 }],
  ])('is %s, and comes back as it was written', (_, record) => {
    expect(readRecord(JSON.stringify(record))).toEqual({ kind: 'read', value: record });
  });

  it.each<[string, string, RegExp]>([
    ['what is no JSON', '{"kind":', /^The line is not JSON: /],
    ['a kind that is none', '{"kind":"stepp"}', /^Field kind: /],
    ['a time that is missing', '{"kind":"tick"}', /^Field atMs: /],
    ['a field that is none', '{"kind":"tick","atMs":1,"at":2}', /^The record: .*at/],
    ['a rank below 0', '{"kind":"heartbeat","atMs":1,"ranks":[{"rank":-1,"step":1}]}', /^Field ranks\.0\.rank: /],
    [
      'a duration that is text',
      '{"kind":"step","atMs":1,"step":1,"loss":null,"gradNorm":null,"ranks":[{"rank":0,"stepTimeMs":"9","timingsMs":{}}]}',
      /^Field ranks\.0\.stepTimeMs: .*number/,
    ],
    ['ranks of a group that are none', '{"kind":"group","group":"1","name":"x","ranks":"0..7"}', /^Field ranks: /],
    ['a second header', JSON.stringify(HEADER), /^Field kind: /],
    [
      'a line without end',
      `"${'x'.repeat(1_048_576)}"`,
      /^The line has 1048578 characters; at most 1048576 are allowed/,
    ],
  ])('is refused for %s, and says where', (_, line, message) => {
    expect(readRecord(line)).toEqual({ kind: 'wrong', message: expect.stringMatching(message) });
  });

  it('is refused where the header should be, and says how one begins', () => {
    expect(readHeader('{"kind":"tick","atMs":1}')).toEqual({
      kind: 'wrong',
      message: expect.stringMatching(/^Field kind: .* A trace begins with its header: /),
    });
    expect(readHeader(JSON.stringify(HEADER))).toEqual({ kind: 'read', value: HEADER });
  });

  it('names a rank that the layout does not have', () => {
    const heartbeat = (rank: number): TraceRecord => ({ kind: 'heartbeat', atMs: 1, ranks: [{ rank, step: 1 }] });
    expect(unknownRank(HEADER, heartbeat(3))).toBeUndefined();
    expect(unknownRank(HEADER, heartbeat(4))).toBe(4);
    expect(unknownRank(HEADER, { kind: 'group', group: '1', name: 'data', ranks: '0-7/2' })).toBe(4);
  });
});

describe('a set of ranks', () => {
  it.each<[string, readonly number[]]>([
    ['7', [7]],
    ['0-3', [0, 1, 2, 3]],
    ['0-56/28', [0, 28, 56]],
    ['0,8-9,1', [0, 8, 9, 1]],
    ['9-3', []],
    ['0-3/0', [0, 1, 2, 3]],
  ])('%s holds %j', (text, ranks) => {
    expect(ranksOfSet(text)).toEqual(ranks);
  });

  it.each<[string, number, readonly number[]]>([
    ['0-99999', 3, [0, 1, 2]],
    ['7,1-56/2', 4, [1, 3]],
    ['0-3', 0, []],
  ])('%s holds, of %i ranks, %j', (text, world, ranks) => {
    expect(ranksOfSet(text, world)).toEqual(ranks);
  });

  it('never holds more than a world', () => {
    expect(ranksOfSet('0-99999,0-99999').length).toBe(32_768);
  });
});
