import { placeOf, type Repository, sidebarOf, siteSources } from './site-pages.ts';

function aRepository(files: Readonly<Record<string, string>>): Repository {
  const names = Object.keys(files);
  return {
    isFile: (path) => names.includes(path),
    isFolder: (path) => names.some((name) => name.startsWith(`${path}/`)),
    read: (path) => files[path] ?? '',
    list: (folder) =>
      names.filter((name) => name.startsWith(`${folder}/`)).map((name) => name.slice(folder.length + 1)),
  };
}

it.each([
  ['docs/README.md', 'index.md'],
  ['docs/tasks/install.md', 'tasks/install.md'],
  ['docs/adr/README.md', 'adr/index.md'],
  ['engines/agent/README.md', 'engines/agent/index.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
])('%s is %s on the site', (path, place) => {
  expect(placeOf(path)).toBe(place);
});

describe('a link of a page', () => {
  const others = {
    'docs/tasks/upgrade.md': '# B',
    'examples/README.md': '# E',
    'libs/x/one.ts': '',
    'docs/images/p.png': '',
  };
  it.each([
    ['to a page leads to its address', '[b](upgrade.md#part)', '[b](/tasks/upgrade.md#part)'],
    ['to a page of another folder brings that page', '[e](../../examples/README.md)', '[e](/examples/index.md)'],
    ['to a file shows it as text', '[one](../../libs/x/one.ts)', '[one](/files/libs/x/one.ts.txt)'],
    ['to a folder shows its files', '[x](../../libs/x)', '[x](/files/libs/x/index.md)'],
    ['to a folder with a page leads there', '[e](../../examples)', '[e](/examples/index.md)'],
    ['to a picture stays one', '![p](../images/p.png)', '![p](/docs/images/p.png)'],
    ['to the web stays', '[w](https://example.com/upgrade.md)', '[w](https://example.com/upgrade.md)'],
    ['within the page stays', '[h](#heading)', '[h](#heading)'],
    ['in code stays', '`[b](upgrade.md)`', '`[b](upgrade.md)`'],
    ['to nothing stays, so that the build finds it', '[n](none.md)', '[n](none.md)'],
  ])('%s', (_sentence, text, want) => {
    const { pages } = siteSources(['docs/tasks/install.md'], aRepository({ ...others, 'docs/tasks/install.md': text }));
    expect(pages.get('tasks/install.md')).toBe(want);
  });

  it('is all that is left of a page with comments for writers', () => {
    const { pages } = siteSources(['docs/README.md'], aRepository({ 'docs/README.md': '<!-- Generated. -->\n# A\n' }));
    expect(pages.get('index.md')).toBe('# A\n');
  });

  it('brings what it leads to', () => {
    const files = { ...others, 'docs/tasks/install.md': '[x](../../libs/x) [b](upgrade.md) ![p](../images/p.png)' };
    const { pages, copies } = siteSources(['docs/tasks/install.md'], aRepository(files));
    expect([...pages.keys()].sort()).toEqual(['files/libs/x/index.md', 'tasks/install.md', 'tasks/upgrade.md']);
    expect([...copies]).toEqual([
      ['public/files/libs/x/one.ts.txt', 'libs/x/one.ts'],
      ['public/docs/images/p.png', 'docs/images/p.png'],
    ]);
  });
});

it('the list beside the pages has a group for each section, column and row of the home page', () => {
  const home = [
    '# Documentation\n\n## Tutorials: learn\n\n1. [first job](/tutorials/first.md)\n',
    '## Tasks: do\n\n| Train | Run |\n| --- | --- |\n| [a](/tasks/a.md) | [b](/tasks/b.md) |\n| [c](/tasks/c.md) | |\n',
    '## Concepts: why\n\n| Page | Explains |\n| --- | --- |\n| [Life](/concepts/life.md) | all |\n',
    '## Reference: facts\n\n| Subject | Pages |\n| --- | --- |\n| Jobs | [x](/x.md), [y](/y.md#z) |\n',
    '## Empty\n\nNothing.\n',
  ].join('\n');
  expect(sidebarOf(home)).toEqual([
    { text: 'Tutorials', collapsed: false, items: [{ text: 'First job', link: '/tutorials/first' }] },
    {
      text: 'Tasks',
      collapsed: false,
      items: [
        {
          text: 'Train',
          items: [
            { text: 'A', link: '/tasks/a' },
            { text: 'C', link: '/tasks/c' },
          ],
        },
        { text: 'Run', items: [{ text: 'B', link: '/tasks/b' }] },
      ],
    },
    { text: 'Concepts', collapsed: false, items: [{ text: 'Life', link: '/concepts/life' }] },
    {
      text: 'Reference',
      collapsed: true,
      items: [
        {
          text: 'Jobs',
          items: [
            { text: 'X', link: '/x' },
            { text: 'Y', link: '/y' },
          ],
        },
      ],
    },
  ]);
});
