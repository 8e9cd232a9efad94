import { DomainError } from '@coxswain/domain-error';
import { DatabaseError, type Sql } from '@coxswain/persistence';
import { createLogger, createMetrics } from '@coxswain/telemetry';
import { aMembership, aPrincipal } from '../testing/a-principal.ts';
import { AccessDenied } from './access-denied.ts';
import { WINDOW_MS } from './denial-counts.ts';
import { Denials } from './denials.ts';
import type { Principal } from './principal.ts';

const ORIGIN = { requestId: 'r', sourceAddress: '192.0.2.1', userAgent: 'curl' };
const FORBIDDEN = new AccessDenied('FORBIDDEN', 'no', { action: 'token.write' });

type Row = Readonly<Record<string, unknown>>;

/** Denials over a database that takes what it is given, or is away. */
function someDenials() {
  const written: Row[] = [];
  const state = { isAway: false, nowMs: 0 };
  const database: Sql = {
    query: (_text, parameters = []) => {
      if (state.isAway) return Promise.reject(new DatabaseError({ code: 'ECONNREFUSED', message: 'away' }));
      written.push(...(JSON.parse(String(parameters[1])) as Row[]));
      return Promise.resolve({ rows: [], affected: 1 });
    },
  };
  const metrics = createMetrics();
  const cluster = { id: 'c', name: 'here' };
  const logger = createLogger({ program: 'test', level: 'silent' });
  const denials = new Denials({ database, cluster, clock: { now: () => new Date(state.nowMs) }, logger }, metrics);
  const note = (error: unknown, principal?: Principal): void =>
    denials.note(error, { principal, origin: ORIGIN, object: '/v1' });
  return { denials, note, written, state, metrics };
}

describe('what the audit is told of failures', () => {
  it.each<[string, unknown, Principal | undefined, Row | undefined]>([
    [
      'a right that is missing',
      FORBIDDEN,
      aPrincipal(),
      { principal_name: 'ada', action: 'token.write', reason: 'FORBIDDEN' },
    ],
    [
      'a token that is no good',
      new DomainError('UNAUTHENTICATED', 'no'),
      undefined,
      { principal: null, action: 'authenticate' },
    ],
    ['a request that is wrong', new DomainError('INVALID_REQUEST', 'no'), aPrincipal(), undefined],
    ['a thing that is not there', new DomainError('NOT_FOUND', 'no'), aPrincipal(), undefined],
    ['a failure of ours', new TypeError('no'), aPrincipal(), undefined],
  ])('%s', async (_what, error, principal, want) => {
    const { denials, note, written } = someDenials();
    note(error, principal);
    await denials.flush();
    expect(written).toEqual(
      want === undefined ? [] : [expect.objectContaining({ ...want, source_address: '192.0.2.1' })],
    );
  });

  it.each<[string, Principal, AccessDenied, string | null]>([
    ['his only project', aPrincipal(), FORBIDDEN, aMembership().id],
    [
      'his only project, whatever he asks about',
      aPrincipal(),
      new AccessDenied('NOT_FOUND', 'no', { action: 'job.read', project: { name: 'rivals' } }),
      aMembership().id,
    ],
    [
      'the one of several that he asks about',
      aPrincipal({ memberships: [aMembership(), aMembership({ id: 'q', name: 'team' })] }),
      new AccessDenied('FORBIDDEN', 'no', { action: 'token.write', project: aMembership({ id: 'q', name: 'team' }) }),
      'q',
    ],
    [
      'none, when he belongs to several and asks about another',
      aPrincipal({ memberships: [aMembership(), aMembership({ id: 'q', name: 'team' })] }),
      new AccessDenied('NOT_FOUND', 'no', { action: 'job.read', project: { name: 'rivals' } }),
      null,
    ],
  ])('is told to the administrators of %s', async (_whose, principal, error, want) => {
    const { denials, note, written } = someDenials();
    note(error, principal);
    await denials.flush();
    expect(written).toMatchObject([{ project_id: want }]);
  });

  it('waits for a database that is away, so much of it as is kept', async () => {
    const { denials, note, written, state, metrics } = someDenials();
    state.isAway = true;
    for (let round = 0; round < 6; round++) {
      for (let one = 0; one < 1_000; one++) {
        const id = `${round}/${one}`;
        note(FORBIDDEN, aPrincipal({ id, memberships: [aMembership({ id })] }));
      }
      await denials.flush();
      state.nowMs += WINDOW_MS;
      await denials.flush();
    }
    state.isAway = false;
    await denials.flush();
    expect(written).toHaveLength(5_000);
    const { text } = await metrics.expose();
    expect(text).toMatch(/audit_entries_lost_total 1000\b/);
  });

  it('writes what it had counted when the process ends', async () => {
    const { denials, note, written } = someDenials();
    for (let one = 0; one < 3; one++) note(FORBIDDEN, aPrincipal());
    await denials.close();
    expect(written.map(({ requests }) => requests)).toEqual([1, 2]);
  });
});
