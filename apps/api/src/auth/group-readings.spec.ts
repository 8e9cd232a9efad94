import { DomainError } from '@coxswain/domain-error';
import type { Database } from '@coxswain/persistence';
import type { IssuerGrant, SignedIn } from '../identity/issuer.ts';
import { aPrincipal } from '../testing/a-principal.ts';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { BELIEVED_MS, GroupReadings, READ_AGAIN_MS } from './group-readings.ts';
import { sealGrant } from './sessions.ts';
import { freshToken } from './token-format.ts';
import type { TokenRow } from './token-lookup.ts';

const now = new Date('2026-01-01T12:00:00Z');
const secret = freshToken().token;
const grant: IssuerGrant = { client: 'page', refreshToken: 'first' };
const answer: SignedIn = {
  identity: { issuer: 'https://accounts.example.com', subject: 'ada', name: 'ada', groups: ['vision'] },
  grant: { client: 'page', refreshToken: 'second' },
};

function aRow(ageMs: number): TokenRow {
  const groupsReadAt = new Date(now.getTime() - ageMs).toISOString();
  return {
    source: 'page',
    id: 's',
    principal_id: 'p',
    kind: 'person',
    name: 'ada',
    prefix: '01234567',
    secret_sha256: Buffer.alloc(32),
    expires_at: new Date(now.getTime() + 3_600_000),
    last_used_at: now,
    grants: [],
    person: { issuer: 'https://accounts.example.com', subject: 'ada', groups: ['research'], groupsReadAt },
  };
}

interface Situation {
  readonly ageMs?: number;
  /** Another request is at it. */
  readonly isClaimed?: boolean;
  readonly presented?: string;
  readonly issuer?: SignedIn | DomainError;
}

async function renewed({ ageMs = READ_AGAIN_MS, isClaimed = false, presented = secret, issuer = answer }: Situation) {
  const sealed = await sealGrant(secret, grant, new Date(now.getTime() + 3_600_000));
  const sql = scriptedSql([[/RETURNING sealed_grant/, isClaimed ? [] : [{ sealed_grant: sealed }]]]);
  const asked: IssuerGrant[] = [];
  const database = { ...sql, transaction: (work: (inner: typeof sql) => Promise<unknown>) => work(sql) };
  const readings = new GroupReadings(
    database as unknown as Database,
    {
      readAgain: (_subject, given) => {
        asked.push(given);
        return issuer instanceof DomainError ? Promise.reject(issuer) : Promise.resolve(issuer);
      },
    },
    { now: () => now },
  );
  const outcome = await readings
    .renew(aRow(ageMs), presented, aPrincipal())
    .catch((error: unknown) => (error as DomainError).code);
  return { outcome, asked, statements: sql.statements };
}

describe('the groups of a session', () => {
  it.each<[string, Situation, unknown, number]>([
    ['are believed for an hour', { ageMs: READ_AGAIN_MS - 1 }, 'believed', 0],
    ['are read again after it', {}, 'read', 1],
    ['are read by one request alone', { isClaimed: true }, 'believed', 0],
    ['are believed while the issuer is away', { issuer: new DomainError('UNAVAILABLE', 'away') }, 'believed', 1],
    [
      'count no more when the issuer is away for too long',
      { ageMs: BELIEVED_MS, issuer: new DomainError('UNAVAILABLE', 'away') },
      'UNAVAILABLE',
      1,
    ],
    [
      'count no more when nobody could read them for too long',
      { ageMs: BELIEVED_MS, isClaimed: true },
      'UNAVAILABLE',
      0,
    ],
    ['end with the account', { issuer: new DomainError('UNAUTHENTICATED', 'gone') }, 'ended', 1],
    ['end when they become too many to tell', { issuer: new DomainError('FORBIDDEN', 'overage') }, 'ended', 1],
    ['end when what they are read with was sealed for another secret', { presented: freshToken().token }, 'ended', 0],
  ])('%s', async (_sentence, situation, want, calls) => {
    const { outcome, asked, statements } = await renewed(situation);
    expect({ outcome, calls: asked.length }).toEqual({ outcome: want, calls });
    expect(statements.some((text) => text.startsWith('UPDATE sessions SET expires_at = now()'))).toBe(want === 'ended');
  });

  it('are read with what was kept, and what comes instead is kept', async () => {
    const { asked, statements } = await renewed({});
    expect(asked).toEqual([expect.objectContaining(grant)]);
    expect(statements.at(-1)).toMatch(/SET groups = \$2, groups_read_at = now\(\), .*sealed_grant = \$3/);
  });
});
