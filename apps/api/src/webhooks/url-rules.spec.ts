import { type CallRules, urlProblem } from './url-rules.ts';

const STRICT: CallRules = { allowsHttp: false, allowedRanges: [] };

describe('the URL of an endpoint', () => {
  it.each<[string, string, Partial<CallRules>, RegExp | undefined]>([
    ['of https', 'https://hooks.example.com/a?b=c', {}, undefined],
    ['with a port', 'https://hooks.example.com:8443/', {}, undefined],
    ['of http', 'http://hooks.example.com/', {}, /COXSWAIN_WEBHOOK_ALLOW_HTTP/],
    ['of http where it is allowed', 'http://hooks.example.com/', { allowsHttp: true }, undefined],
    ['of a file', 'file:///etc/passwd', { allowsHttp: true }, /must with https:/],
    ['of gopher', 'gopher://hooks.example.com', {}, /must with https:/],
    ['that is none', 'hooks.example.com', {}, /is no URL/],
    ['with a password', 'https://me:secret@hooks.example.com/', {}, /user or a password/],
    ['with a fragment', 'https://hooks.example.com/#a', {}, /fragment/],
    ['of this machine', 'https://127.0.0.1/', {}, /private/],
    ['of this machine in another writing', 'https://0x7f.1/', {}, /private/],
    ['of this machine in decimals', 'https://2130706433/', {}, /private/],
    ['of this machine by IPv6', 'https://[::1]/', {}, /private/],
    ['of IPv4 in IPv6', 'https://[::ffff:169.254.169.254]/', {}, /private/],
    ['of a metadata service', 'https://169.254.169.254/latest/meta-data', {}, /private/],
    ['of a network that is allowed', 'https://10.1.2.3/', { allowedRanges: ['10.1.0.0/16'] }, undefined],
    ['of a public address', 'https://8.8.8.8/', {}, undefined],
    ['of a name that leads who knows where', 'https://localhost/', {}, undefined],
  ])('%s: %s', (_what, url, rules, want) => {
    const problem = urlProblem(url, { ...STRICT, ...rules });
    if (want === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(want);
  });
});
