import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
/** Rows of tables whose first cell names folders, with what stands in the cells. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, quoted]) => quoted ?? '')));

describe('the map in CONTRIBUTING.md', () => {
  it('names every package', () => {
    const named = rows.flatMap(([, folders]) => folders);
    expect(globSync('{apps,libs,dev,research}/*', { cwd: ROOT }).sort()).toEqual(
      named.filter((folder) => folder !== undefined && /^(apps|libs|dev|research)\//.test(folder)).sort(),
    );
  });

  it('names every folder of the planner', () => {
    const named = new Set(rows.flatMap(([, folders]) => folders));
    const folders = globSync('libs/planner/src/*/', { cwd: ROOT }).map((path) => `${path.split('/').at(-1) ?? ''}/`);
    expect(folders.filter((folder) => !named.has(folder) && folder !== 'testing/')).toEqual([]);
  });

  it('says where to start, at a file that is there', () => {
    const missing = rows.flatMap(([, folders = [], , starts = []]) =>
      starts.filter(
        (file) => !folders.some((folder) => ['', 'src'].some((src) => existsSync(join(ROOT, folder, src, file)))),
      ),
    );
    expect(missing).toEqual([]);
  });
});

it('the recipes of CONTRIBUTING.md name files that are there', () => {
  const paths = [
    ...page.matchAll(/`((?:apps|libs|dev|research|tools|migrations|engines|docs|examples)\/[\w./-]*\w)\/?`/g),
  ];
  expect(paths.map(([, path]) => path ?? '').filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
