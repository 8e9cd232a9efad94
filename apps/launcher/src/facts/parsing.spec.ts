import fc from 'fast-check';
import { parseFact } from './engine-facts.ts';
import { LineSplitter } from '../logs/line-splitter.ts';
import { formatAddress, parseAddress } from '../engine/rendezvous.ts';
import { isHttpsBase } from '../program/settings.ts';

describe('lines', () => {
  it('are the same however the bytes arrive in chunks', () => {
    const bytes = fc
      .uint8Array({ maxLength: 200 })
      .map((array) => Buffer.from(array.map((byte) => (byte < 40 ? 10 : byte))));
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(200)), fc.integer({ min: 1, max: 50 }), (all, cuts, maxBytes) => {
        const whole = split([all], maxBytes);
        const edges = [0, ...cuts.map((cut) => Math.min(cut, all.length)).sort((a, b) => a - b), all.length];
        const chunks = edges.slice(1).map((edge, index) => all.subarray(edges[index], edge));
        expect(split(chunks, maxBytes)).toEqual(whole);
      }),
    );
  });
});

function split(chunks: readonly Buffer[], maxBytes: number): readonly string[] {
  const splitter = new LineSplitter(maxBytes);
  const lines = chunks.flatMap((chunk) => splitter.push(chunk));
  const last = splitter.end();
  return [...lines, ...(last === undefined ? [] : [last])].map(
    (line) => `${line.bytes.toString('hex')}+${line.cutBytes}`,
  );
}

describe('a fact of an engine', () => {
  it.each([
    ['a step without optional values', '{"kind":"step","step":3,"stepTimeMs":1}', true],
    ['a step that names a rank, which the pipe knows better', '{"kind":"step","step":3,"stepTimeMs":1,"rank":7}', true],
    ['a loss that is no number', '{"kind":"step","step":3,"stepTimeMs":1,"loss":NaN}', false],
    ['a loss that is told as none', '{"kind":"step","step":3,"stepTimeMs":1,"notFinite":{"loss":"NaN"}}', true],
    ['a word that a later hook may say', '{"kind":"step","step":3,"stepTimeMs":1,"notFinite":{"loss":"soon"}}', true],
    ['a loss beyond all bounds', '{"kind":"step","step":3,"stepTimeMs":1,"loss":1e40}', false],
    ['a step before the first', '{"kind":"step","step":-1,"stepTimeMs":1}', false],
    ['half a step', '{"kind":"step","step":1.5,"stepTimeMs":1}', false],
    ['something unheard of', '{"kind":"confession"}', false],
    ['a checkpoint outside its directory', checkpoint('../../etc'), false],
    ['a checkpoint in the directory above', checkpoint('..'), false],
    ['a checkpoint', checkpoint('step-00000001'), true],
    ['a heartbeat', '{"kind":"heartbeat"}', true],
    [
      'a heartbeat with a watermark',
      '{"kind":"heartbeat","watermark":{"phase":"training","phaseAgeMs":5,"groups":[]}}',
      true,
    ],
    ['a heartbeat of half a step', '{"kind":"heartbeat","step":1.5}', false],
    ['what is trained', trained(), true],
    ['what is trained, with a word that a later hook may say', trained({ later: 1 }), true],
    ['what is trained by less than nobody', trained({ worldSize: -4 }), false],
    ['what is trained with more wrappers than are looked at', trained({ wrappers: Array(17).fill('a.B') }), false],
    ['what is trained under a name that is too long', trained({ mesh: [{ name: 'x'.repeat(65), size: 2 }] }), false],
    ['nothing', '', false],
    ['a list', '[]', false],
  ])('is checked: %s', (_, line, isFact) => {
    expect(parseFact(line) !== undefined).toBe(isFact);
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (line) => void parseFact(line)));
  });
});

function trained(more: object = {}): string {
  return JSON.stringify({
    kind: 'trained',
    worldSize: 4,
    backend: null,
    parameterBytes: 1,
    optimizerBytes: 1,
    ...more,
  });
}

function checkpoint(directory: string): string {
  return JSON.stringify({
    kind: 'checkpointSaved',
    step: 1,
    directory,
    bytes: 1,
    files: 1,
    manifestSha256: 'a'.repeat(64),
  });
}

describe('an address', () => {
  it.each([
    ['10.0.0.7:29500', { host: '10.0.0.7', port: 29_500 }],
    ['[fd00::7]:29500', { host: 'fd00::7', port: 29_500 }],
    ['node-7.example:1', { host: 'node-7.example', port: 1 }],
  ])('%s is read and written alike', (text, address) => {
    expect(parseAddress(text)).toEqual(address);
    expect(formatAddress(address)).toBe(text);
  });

  it.each(['', 'host', 'host:', ':1', 'host:0', 'host:65536', 'fd00::7:29500', 'a b:1', 'host:1;rm'])(
    '%j is none',
    (text) => {
      expect(parseAddress(text)).toBeUndefined();
    },
  );
});

describe('a base URL', () => {
  it.each([
    ['https://10.0.0.1:8443', true],
    ['https://[::1]:8443/', true],
    ['http://10.0.0.1:8443', false],
    ['https://10.0.0.1/path', false],
    ['https://user@10.0.0.1', false],
    ['wss://10.0.0.1', false],
    ['nonsense', false],
  ])('%s may carry a token: %s', (url, may) => {
    expect(isHttpsBase(url)).toBe(may);
  });
});
