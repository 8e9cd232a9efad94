import type { FastifyRequest } from 'fastify';
import { originOf } from './request-origin.ts';

describe('where a request comes from', () => {
  it.each([
    ['10.0.0.7', '10.0.0.7'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['fd00::7', 'fd00::7'],
    ['::ffff:a00:7', '::ffff:a00:7'],
  ])('%s is told as %s', (ip, want) => {
    const request = { id: 'r', ip, headers: {} } as unknown as FastifyRequest;
    expect(originOf(request).sourceAddress).toBe(want);
  });
});
