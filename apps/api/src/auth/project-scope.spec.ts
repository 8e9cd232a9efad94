import { DomainError } from '@coxswain/domain-error';
import { aMembership, anAdministrator, aPrincipal } from '../testing/a-principal.ts';
import { scriptedSql } from '../testing/scripted-sql.ts';
import type { Principal } from './principal.ts';
import type { Scope, TenantDatabase } from '@coxswain/persistence';
import { ALL_PROJECTS, inProject, inScope, projectIdOf, readingScope, requireScope } from './project-scope.ts';
import type { Action } from './roles.ts';

const research = { id: '3f1c2b9e-0000-4000-8000-00000000000a', name: 'research' };
const rivals = { id: '3f1c2b9e-0000-4000-8000-00000000000b', name: 'rivals' };
const sql = scriptedSql([
  [/FROM projects/, ([, name]) => [research, rivals].filter((project) => project.name === name)],
]);

const viewer = aPrincipal({ memberships: [aMembership({ ...research, role: 'viewer' })] });
const operator = aPrincipal({ memberships: [aMembership({ ...research, role: 'operator' })] });
/** Of two projects. */
const person = aPrincipal({
  kind: 'person',
  memberships: [aMembership({ ...research, role: 'viewer' }), aMembership({ ...rivals, role: 'operator' })],
});
const administrator = anAdministrator();

interface Asked {
  readonly as: Principal;
  readonly project: string;
  readonly action?: Action;
}
const question = ({ as, project, action = 'job.read' }: Asked) => ({ clusterId: 'c', principal: as, project, action });
/** Tells what a transaction sees, as it begins and narrower. */
function aDatabase(): Pick<TenantDatabase, 'within' | 'ask'> & { readonly seen: (Scope['reach'] | string)[] } {
  const seen: (Scope['reach'] | string)[] = [];
  return {
    seen,
    within: (scope, work) => {
      seen.push(scope.reach);
      return work({ query: sql.query, narrowTo: (id) => Promise.resolve(void seen.push(id)) });
    },
    ask: (scope) => {
      seen.push(scope.reach);
      return Promise.resolve([]);
    },
  };
}
const within = (asked: Asked): Promise<unknown> =>
  inProject(aDatabase(), question(asked), (_sql, project) => Promise.resolve(project));
const outcomeOf = (act: Promise<unknown>): Promise<unknown> =>
  act.catch((error: unknown) => (error instanceof DomainError ? error.code : error));

describe('what a request is confined to', () => {
  it.each<[string, Asked, unknown]>([
    [
      'its own project for a member',
      { as: viewer, project: 'research' },
      { kind: 'project', ...research, role: 'viewer' },
    ],
    ['nothing in a project of others', { as: operator, project: 'rivals' }, 'NOT_FOUND'],
    ['nothing in a project that there is not', { as: operator, project: 'nowhere' }, 'NOT_FOUND'],
    ['nothing in all projects for a member', { as: operator, project: ALL_PROJECTS }, 'NOT_FOUND'],
    ['nothing that the role does not allow', { as: viewer, project: 'research', action: 'job.submit' }, 'FORBIDDEN'],
    [
      'what the role allows',
      { as: operator, project: 'research', action: 'job.submit' },
      { kind: 'project', ...research, role: 'operator' },
    ],
    [
      'nothing in a project of others, whatever the role: it would tell that the project exists',
      { as: viewer, project: 'rivals', action: 'job.submit' },
      'NOT_FOUND',
    ],
    [
      'each of its projects for a member of several, in the role that it has there',
      { as: person, project: 'rivals', action: 'job.submit' },
      { kind: 'project', ...rivals, role: 'operator' },
    ],
    [
      'nothing that only its role in another project allows',
      { as: person, project: 'research', action: 'job.submit' },
      'FORBIDDEN',
    ],
    ['nothing in all projects for a member of several', { as: person, project: ALL_PROJECTS }, 'NOT_FOUND'],
    [
      'any project for an administrator',
      { as: administrator, project: 'rivals' },
      { kind: 'project', ...rivals, role: 'clusterAdmin' },
    ],
    [
      'the cluster for an administrator who names all',
      { as: administrator, project: ALL_PROJECTS },
      { kind: 'cluster', role: 'clusterAdmin' },
    ],
    [
      'nothing in a project that there is not, for an administrator too',
      { as: administrator, project: 'nowhere' },
      'NOT_FOUND',
    ],
  ])('is %s', async (_sentence, asked, want) => {
    expect(await outcomeOf(requireScope(sql, question(asked)))).toEqual(want);
  });

  it('is told in one sentence of a project of others and of one that there is not', async () => {
    const sentences = await Promise.all(
      ['rivals', 'nowhere'].map((project) =>
        requireScope(sql, question({ as: operator, project })).catch((error: unknown) =>
          (error as Error).message.replace(project, '…'),
        ),
      ),
    );
    expect(sentences[0]).toBe(sentences[1]);
  });

  it('must be one project for what is made', async () => {
    const all = within({ as: administrator, project: ALL_PROJECTS, action: 'job.submit' });
    expect(await outcomeOf(all)).toBe('INVALID_REQUEST');
    expect(await within({ as: administrator, project: 'rivals' })).toMatchObject(rivals);
  });

  it('compares rows with one project, or with none for the whole cluster', () => {
    expect(projectIdOf({ kind: 'project', ...research, role: 'viewer' })).toBe(research.id);
    expect(projectIdOf({ kind: 'cluster', role: 'clusterAdmin' })).toBeNull();
  });
});

describe('the transaction of a request', () => {
  it.each<[string, Asked, readonly unknown[]]>([
    ['the project of a member', { as: viewer, project: 'research' }, [{ kind: 'projects', ids: [research.id] }]],
    [
      'the one project that a member of two names',
      { as: person, project: 'rivals' },
      [{ kind: 'projects', ids: [rivals.id] }],
    ],
    [
      'the one project that an administrator names',
      { as: administrator, project: 'rivals' },
      [{ kind: 'cluster' }, rivals.id],
    ],
    [
      'the cluster, for an administrator who names all',
      { as: administrator, project: ALL_PROJECTS },
      [{ kind: 'cluster' }],
    ],
  ])('sees %s', async (_sentence, asked, want) => {
    const database = aDatabase();
    await inScope(database, question(asked), () => Promise.resolve());
    expect(database.seen).toEqual(want);
  });

  it.each<[string, Asked, readonly unknown[]]>([
    [
      'the one project that a member of two names',
      { as: person, project: 'rivals' },
      [{ kind: 'projects', ids: [rivals.id] }],
    ],
    [
      'the cluster while it looks for the project that an administrator names, and then that one',
      { as: administrator, project: 'rivals' },
      [{ kind: 'cluster' }, { kind: 'projects', ids: [rivals.id] }],
    ],
    [
      'the cluster, for an administrator who names all',
      { as: administrator, project: ALL_PROJECTS },
      [{ kind: 'cluster' }, { kind: 'cluster' }],
    ],
  ])('of one statement sees %s', async (_sentence, asked, want) => {
    const database = aDatabase();
    const reading = await readingScope(database, question(asked));
    await reading.sql.query('SELECT 1');
    expect(database.seen).toEqual(want);
  });

  it('is not begun for what a member may not do', async () => {
    const database = aDatabase();
    const asked = inScope(database, question({ as: viewer, project: 'rivals' }), () => Promise.resolve());
    expect(await outcomeOf(asked)).toBe('NOT_FOUND');
    const reading = readingScope(database, question({ as: viewer, project: 'rivals' }));
    expect(await outcomeOf(reading)).toBe('NOT_FOUND');
    expect(database.seen).toEqual([]);
  });
});
