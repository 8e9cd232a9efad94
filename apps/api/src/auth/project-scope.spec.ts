import { DomainError } from '@coxswain/domain-error';
import { scriptedSql } from '../testing/scripted-sql.ts';
import type { Principal } from './principal.ts';
import { ALL_PROJECTS, projectIdOf, requireProject, requireScope } from './project-scope.ts';
import type { Action } from './roles.ts';

const research = { id: '3f1c2b9e-0000-4000-8000-00000000000a', name: 'research' };
const rivals = { id: '3f1c2b9e-0000-4000-8000-00000000000b', name: 'rivals' };
const sql = scriptedSql([
  [/FROM projects/, ([, name]) => [research, rivals].filter((project) => project.name === name)],
]);

const of = (role: Principal['role'], project: Principal['project']): Principal => ({
  tokenId: 't',
  name: 'n',
  role,
  project,
});
const viewer = of('viewer', research);
const operator = of('operator', research);
const administrator = of('clusterAdmin', null);

interface Asked {
  readonly as: Principal;
  readonly project: string;
  readonly action?: Action;
}
const question = ({ as, project, action = 'job.read' }: Asked) => ({ clusterId: 'c', principal: as, project, action });
const outcomeOf = (act: Promise<unknown>): Promise<unknown> =>
  act.catch((error: unknown) => (error instanceof DomainError ? error.code : error));

describe('what a request is confined to', () => {
  it.each<[string, Asked, unknown]>([
    ['its own project for a member', { as: viewer, project: 'research' }, { kind: 'project', ...research }],
    ['nothing in a project of others', { as: operator, project: 'rivals' }, 'NOT_FOUND'],
    ['nothing in a project that there is not', { as: operator, project: 'nowhere' }, 'NOT_FOUND'],
    ['nothing in all projects for a member', { as: operator, project: ALL_PROJECTS }, 'NOT_FOUND'],
    ['nothing that the role does not allow', { as: viewer, project: 'research', action: 'job.write' }, 'FORBIDDEN'],
    [
      'what the role allows',
      { as: operator, project: 'research', action: 'job.write' },
      { kind: 'project', ...research },
    ],
    [
      'nothing in a project of others, whatever the role: it would tell that the project exists',
      { as: viewer, project: 'rivals', action: 'job.write' },
      'NOT_FOUND',
    ],
    ['any project for an administrator', { as: administrator, project: 'rivals' }, { kind: 'project', ...rivals }],
    [
      'the cluster for an administrator who names all',
      { as: administrator, project: ALL_PROJECTS },
      { kind: 'cluster' },
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
    const all = requireProject(sql, question({ as: administrator, project: ALL_PROJECTS, action: 'job.write' }));
    expect(await outcomeOf(all)).toBe('INVALID_REQUEST');
    expect(await requireProject(sql, question({ as: administrator, project: 'rivals' }))).toMatchObject(rivals);
  });

  it('compares rows with one project, or with none for the whole cluster', () => {
    expect(projectIdOf({ kind: 'project', ...research })).toBe(research.id);
    expect(projectIdOf({ kind: 'cluster' })).toBeNull();
  });
});
