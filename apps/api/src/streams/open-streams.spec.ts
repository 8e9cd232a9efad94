import type { Principal } from '../auth/principal.ts';
import { codeOf } from '../testing/code-of.ts';
import { MAX_STREAMS_PER_TOKEN, OpenStreams } from './open-streams.ts';

const token = (tokenId: string): Principal => ({ tokenId, name: tokenId, role: 'viewer', project: null });

describe('open streams', () => {
  let streams: OpenStreams;
  beforeEach(() => {
    streams = new OpenStreams();
  });
  const fill = (tokenId: string): (() => void)[] =>
    Array.from({ length: MAX_STREAMS_PER_TOKEN }, () => streams.enter(token(tokenId)));

  it('are limited per token, and one that ends makes room for one', () => {
    const [leave] = fill('a');
    expect(codeOf(() => streams.enter(token('a')))).toBe('RATE_LIMITED');
    leave?.();
    expect(codeOf(() => streams.enter(token('a')))).toBeUndefined();
    expect(codeOf(() => streams.enter(token('a')))).toBe('RATE_LIMITED');
  });

  it('of one token take no room from another', () => {
    fill('a');
    expect(codeOf(() => streams.enter(token('b')))).toBeUndefined();
  });

  it('give their room back once, however often they end', () => {
    const [leave] = fill('a');
    leave?.();
    leave?.();
    expect(streams.count).toBe(MAX_STREAMS_PER_TOKEN - 1);
  });

  it('are told when the process stops', () => {
    expect(streams.stopped.aborted).toBe(false);
    streams.close();
    expect(streams.stopped.aborted).toBe(true);
  });
});
