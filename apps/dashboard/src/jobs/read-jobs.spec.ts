/** Which jobs the list asks the API for, and how it joins those of several projects. */
import type { JobQuery } from '@coxswain/api-client';
import type { JobList, Project, WhoAmI } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { ALL_JOBS, type JobListing } from './job-listing.ts';
import { readJobs } from './read-jobs.ts';

const ADMIN: WhoAmI = { name: 'root', role: 'clusterAdmin', project: null, kind: 'person', memberships: [] };
const MEMBER: WhoAmI = { ...ADMIN, name: 'ada', role: 'viewer', project: 'vision' };

/** Jobs of each project, by the minute in which each was made; `more` after them if its list is cut. */
type Projects = Readonly<Record<string, readonly (number | 'more')[]>>;

function listOf(project: string, minutes: readonly (number | 'more')[]): JobList {
  const made = minutes.filter((minute) => minute !== 'more');
  return {
    items: made.map((minute) =>
      aJob({
        name: `${project}-${minute}`,
        project,
        createdAt: `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`,
      }),
    ),
    ...(made.length < minutes.length ? { nextPageToken: 'next' } : {}),
  };
}

async function read(projects: Projects, me: WhoAmI, listing: Partial<JobListing> = {}) {
  const asked: (readonly [project: string, query: unknown])[] = [];
  const api = {
    projects: () => Promise.resolve({ items: Object.keys(projects).map((name) => ({ name }) as Project) }),
    jobPage: (project: string, query?: JobQuery) => {
      asked.push([project, query]);
      const minutes = projects[project];
      return minutes === undefined
        ? Promise.reject(new Error(`No ${project}.`))
        : Promise.resolve(listOf(project, minutes));
    },
  };
  const { jobs, isCut } = await readJobs({ api, me }, { ...ALL_JOBS, ...listing }, 50);
  return { asked, isCut, names: jobs.map(({ name }) => name) };
}

describe('the list of jobs', () => {
  it.each<[string, Projects, WhoAmI, readonly string[]]>([
    ['is that of one project for its members', { vision: [1, 2], speech: [3] }, MEMBER, ['vision-2', 'vision-1']],
    [
      'is that of all projects for administrators, newest first',
      { vision: [1, 4], speech: [3, 2] },
      ADMIN,
      ['vision-4', 'speech-3', 'speech-2', 'vision-1'],
    ],
    ['is empty if no project has a job', { vision: [], speech: [] }, ADMIN, []],
    ['is empty if there is no project', {}, ADMIN, []],
  ])('%s', async (_sentence, projects, me, want) => {
    expect((await read(projects, me)).names).toEqual(want);
  });

  it.each<[string, Projects, boolean]>([
    ['whole', { vision: [1], speech: [2] }, false],
    ['cut if the list of a project is', { vision: [1], speech: [2, 'more'] }, true],
    ['whole if there is nothing', {}, false],
  ])('is %s', async (_sentence, projects, want) => {
    expect((await read(projects, ADMIN)).isCut).toBe(want);
  });

  it('asks each project once, with the filters and the order of the form', async () => {
    const { asked } = await read({ vision: [], speech: [] }, ADMIN, {
      labels: 'a=b',
      state: 'Failed',
      orderBy: 'name',
    });
    const query = { labelSelector: 'a=b', state: 'Failed', orderBy: 'name', pageSize: 50 };
    expect(asked).toEqual([
      ['vision', query],
      ['speech', query],
    ]);
  });

  it('is in the order of the form across projects', async () => {
    const { names } = await read({ vision: [1, 2], speech: [3] }, ADMIN, { orderBy: 'name' });
    expect(names).toEqual(['speech-3', 'vision-1', 'vision-2']);
  });

  it('fails as a whole if a project cannot be read, rather than to lack its jobs', async () => {
    await expect(read({ speech: [1] }, MEMBER)).rejects.toThrow('No vision.');
  });
});
