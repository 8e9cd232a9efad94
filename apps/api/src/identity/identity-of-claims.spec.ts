import { DomainError } from '@coxswain/domain-error';
import { type Claims, identityOf, MAX_GROUPS } from './identity-of-claims.ts';

const read = (claims: Claims) => identityOf(claims, { issuer: 'https://accounts.example.com', groupsClaim: 'groups' });
const groupsOf = (claims: Claims): unknown => {
  try {
    return read({ sub: 'ada', ...claims }).groups;
  } catch (error) {
    return error instanceof DomainError ? error.message.replace('you cannot be signed in: ', '') : error;
  }
};

describe('claims', () => {
  it.each<[string, Claims, unknown]>([
    ['tell groups, each once, in order', { groups: ['b', 'a', 'b'] }, ['a', 'b']],
    ['tell one group as a text', { groups: 'a' }, ['a']],
    ['tell that there is none', { groups: [] }, []],
    ['can tell nothing of groups', {}, undefined],
    ['can tell nothing of groups and something of other things', { _claim_names: { address: 'src1' } }, undefined],
    ['are believed no group of 257 characters', { groups: ['a', 'b'.repeat(257), ''] }, ['a']],
    [
      'with groups in numbers are refused',
      { groups: [1] },
      expect.stringMatching(/"groups" .* is not a list of names/),
    ],
    ['with groups in an object are refused', { groups: { a: true } }, expect.stringMatching(/not a list of names/)],
    [
      'that say that there are too many groups (Entra ID) are refused',
      { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph' } } },
      expect.stringMatching(/too many for a token/),
    ],
    ['that say so in the other way are refused', { hasgroups: true }, expect.stringMatching(/too many for a token/)],
    [
      'that say so are refused though they list some',
      { _claim_names: { groups: 'src1' }, groups: ['a'] },
      expect.stringMatching(/too many for a token/),
    ],
    [
      'with more groups than are read are refused',
      { groups: Array.from({ length: MAX_GROUPS + 1 }, (_, index) => `g${index}`) },
      expect.stringMatching(/lists 501 groups; at most 500/),
    ],
  ])('%s', (_sentence, claims, want) => {
    expect(groupsOf(claims)).toEqual(want);
  });

  it.each<[Claims, string]>([
    [{ preferred_username: 'ada', email: 'a@example.com', name: 'Ada' }, 'ada'],
    [{ email: 'a@example.com', name: 'Ada' }, 'a@example.com'],
    [{ name: 'Ada\n\u001b[31mLovelace' }, 'Ada Lovelace'],
    [{}, 'subject'],
    [{ name: 5 }, 'subject'],
  ])('%j name somebody %s', (claims, want) => {
    expect(read({ sub: 'subject', ...claims }).name).toBe(want);
  });

  it.each([[undefined], [''], [5], ['s'.repeat(256)]])('with subject %j are refused', (sub) => {
    expect(() => read({ sub })).toThrow(/no subject of 1 to 255 characters/);
  });
});
