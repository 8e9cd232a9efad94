import { aPrincipal } from '../testing/a-principal.ts';
import { codeOf } from '../testing/code-of.ts';
import { MAX_STREAMS_PER_PRINCIPAL, MAX_STREAMS_PER_PROJECT, OpenStreams } from './open-streams.ts';

describe('open streams', () => {
  let streams: OpenStreams;
  beforeEach(() => {
    streams = new OpenStreams();
  });
  const fill = (id: string): (() => void)[] =>
    Array.from({ length: MAX_STREAMS_PER_PRINCIPAL }, () => streams.enter(aPrincipal({ id })));

  it('are limited per principal, and one that ends makes room for one', () => {
    const [leave] = fill('a');
    expect(codeOf(() => streams.enter(aPrincipal({ id: 'a' })))).toBe('RATE_LIMITED');
    leave?.();
    expect(codeOf(() => streams.enter(aPrincipal({ id: 'a' })))).toBeUndefined();
    expect(codeOf(() => streams.enter(aPrincipal({ id: 'a' })))).toBe('RATE_LIMITED');
  });

  it('of one principal take no room from another', () => {
    fill('a');
    expect(codeOf(() => streams.enter(aPrincipal({ id: 'b' })))).toBeUndefined();
  });

  it('of one project are limited together, whoever watches, and take no room from another project', () => {
    const leaves = Array.from({ length: MAX_STREAMS_PER_PROJECT }, (_, index) =>
      streams.enter(aPrincipal({ id: String(index) }), 'research'),
    );
    const enter = (project: string): string | undefined =>
      codeOf(() => streams.enter(aPrincipal({ id: 'late' }), project));
    expect(enter('research')).toBe('RATE_LIMITED');
    expect(enter('rivals')).toBeUndefined();
    leaves[0]?.();
    expect(enter('research')).toBeUndefined();
  });

  it('give their room back once, however often they end', () => {
    const [leave] = fill('a');
    leave?.();
    leave?.();
    expect(streams.count).toBe(MAX_STREAMS_PER_PRINCIPAL - 1);
  });

  it('are told when the process stops', () => {
    expect(streams.stopped.aborted).toBe(false);
    streams.close();
    expect(streams.stopped.aborted).toBe(true);
  });
});
