import { signedHeaders } from './signature.ts';

/** The example that Standard Webhooks’ own libraries are tested with. */
const MESSAGE = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampS: 1_614_265_330, body: '{"test": 2432232314}' };
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

describe('a message', () => {
  it('is signed as the published example is', () => {
    expect(signedHeaders(MESSAGE, [SECRET])).toEqual({
      'webhook-id': MESSAGE.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': SIGNATURE,
    });
  });

  it('has a signature of each secret, the new one first', () => {
    const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const [first, second, ...rest] = signedHeaders(MESSAGE, [other, SECRET])['webhook-signature']?.split(' ') ?? [];
    expect([second, rest]).toEqual([SIGNATURE, []]);
    expect(first).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
    expect(first).not.toBe(SIGNATURE);
  });

  it.each<[string, Partial<typeof MESSAGE>]>([
    ['id', { id: 'msg_other' }],
    ['time', { timestampS: 1_614_265_331 }],
    ['body', { body: '{"test":2432232314}' }],
  ])('of another %s has another signature', (_what, change) => {
    expect(signedHeaders({ ...MESSAGE, ...change }, [SECRET])['webhook-signature']).not.toBe(SIGNATURE);
  });
});
