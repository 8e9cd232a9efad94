import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGES = globSync('{*.md,{docs,examples,apps,engines,migrations,libs,charts}/**/*.md}', {
  cwd: ROOT,
  exclude: ['**/node_modules'],
}).sort();
const PAGE_NAME = /(?<![\w/.])docs\/(?:adr|concepts|reference|tasks|tutorials|design)\/[\w./-]+\.md/g;
const CODE = /```[\s\S]*?```|`[^`\n]*`/g;

/** Links of a page to files of this repository: `[text](path#anchor)` and pictures. */
function linksOf(text: string): readonly { readonly path: string; readonly anchor: string | undefined }[] {
  return [...text.replaceAll(CODE, '').matchAll(/\]\(([^)\s#]*)(?:#([^)\s]+))?\)/g)]
    .map(([, path = '', anchor]) => ({ path, anchor }))
    .filter(({ path }) => !/^[a-z]+:/.test(path));
}

/** The names by which GitHub knows the headings of a page. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/^#{1,6} (.+)$/gm)];
  const names = headings.map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set(names);
}

function brokenLinks(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return linksOf(text).flatMap(({ path, anchor }) => {
    const target = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path);
    if (!existsSync(target)) return [`${path}: no such file`];
    const isPage = target.endsWith('.md') && statSync(target).isFile();
    if (anchor === undefined || !isPage || anchorsOf(readFileSync(target, 'utf8')).has(anchor)) return [];
    return [`${path}#${anchor}: no such heading`];
  });
}

describe('links of pages', () => {
  it('lead to files and headings that exist', () => {
    expect(PAGES.flatMap((page) => brokenLinks(page).map((link) => `${page} -> ${link}`))).toEqual([]);
  });

  it('are found', () => {
    expect(linksOf('See [a](b.md#c), ![d](e.png), `[f](g)` and [h](https://example.com).')).toEqual([
      { path: 'b.md', anchor: 'c' },
      { path: 'e.png', anchor: undefined },
    ]);
  });
});

describe('pages that code, chart and messages name', () => {
  it('exist', () => {
    const sources = globSync(
      '{apps,libs,tools,charts,e2e,engines,examples,images,.github}/**/*.{ts,tsx,mjs,py,yaml,yml,json,sh,txt}',
      { cwd: ROOT, exclude: ['**/node_modules', '**/dist'] },
    );
    const missing = sources.flatMap((source) =>
      [...readFileSync(join(ROOT, source), 'utf8').matchAll(PAGE_NAME)]
        .map(([page]) => page)
        .filter((page) => !existsSync(join(ROOT, page)))
        .map((page) => `${source} -> ${page}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('docs/README.md', () => {
  it('links to every page of docs but decisions and designs', () => {
    const linked = new Set(
      linksOf(readFileSync(join(ROOT, 'docs/README.md'), 'utf8')).map(({ path }) => join('docs', path)),
    );
    const pages = PAGES.filter((page) => /^docs\/(tutorials|tasks|concepts|reference)\//.test(page));
    expect(pages.filter((page) => !linked.has(page))).toEqual([]);
  });
});

describe('a task page', () => {
  it.each(PAGES.filter((page) => /^docs\/(tutorials|tasks)\//.test(page)))(
    '%s begins with what the reader can do after it',
    (page) => {
      const [title = '', , first = ''] = readFileSync(join(ROOT, page), 'utf8').split('\n');
      expect([title.startsWith('# '), first.startsWith('After this page ')]).toEqual([true, true]);
    },
  );
});

describe('README.md', () => {
  it('has at most 120 lines', () => {
    expect(readFileSync(join(ROOT, 'README.md'), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(120);
  });

  it('shows a job of examples as it is, but for comments', () => {
    const shown = /```yaml\n# (examples\/jobs\/[\w-]+\.yaml)\n([\s\S]*?)```/.exec(
      readFileSync(join(ROOT, 'README.md'), 'utf8'),
    );
    const withoutComments = (yaml: string): string =>
      yaml
        .split('\n')
        .map((line) => line.replace(/\s*#.*$/, ''))
        .filter((line) => line !== '')
        .join('\n');
    const [, file = '', yaml = ''] = shown ?? [];
    expect(withoutComments(yaml)).toBe(withoutComments(readFileSync(join(ROOT, file), 'utf8')));
  });
});
