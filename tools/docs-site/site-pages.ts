/** Which pages does the documentation site have, under which addresses, and where do their links lead? Pure. */

/** The files of the repository that the site may show, by path from its root. */
export interface Repository {
  readonly isFile: (path: string) => boolean;
  readonly isFolder: (path: string) => boolean;
  readonly read: (path: string) => string;
  /** Names of the files in a folder and below it, from that folder. */
  readonly list: (folder: string) => readonly string[];
}

/** What is written for the site generator, each by its path there. */
export interface SiteSources {
  readonly pages: ReadonlyMap<string, string>;
  /** Pictures and shown files: path in the repository by path on the site. */
  readonly copies: ReadonlyMap<string, string>;
}

/** Pages that no page needs to link to. */
const NAMED: Readonly<Record<string, string>> = {
  'docs/README.md': 'index.md',
  'README.md': 'overview.md',
  'CONTRIBUTING.md': 'contributing.md',
  'CHANGELOG.md': 'changelog.md',
  'SECURITY.md': 'security.md',
};

const PICTURE = /\.(?:png|svg|jpg|gif)$/;
const CODE_OR_LINK = /(```[\s\S]*?```|`[^`\n]*`)|\]\(([^)\s]+)\)/g;
/** Of whole lines; readers of a page do not see them. */
const COMMENT = /^<!--[\s\S]*?-->\n+/gm;

/** Where a page of the repository is on the site. */
export function placeOf(path: string): string {
  const named = NAMED[path];
  if (named !== undefined) return named;
  return path.replace(/^docs\//, '').replace(/(^|\/)README\.md$/, '$1index.md');
}

/** The pages in `docs` and all that they lead to. Links to other files show these as text, and links to folders show a list. */
export function siteSources(docs: readonly string[], repository: Repository): SiteSources {
  const pages = new Map<string, string>();
  const copies = new Map<string, string>();
  const waiting = [...new Set([...Object.keys(NAMED), ...docs])].filter(repository.isFile);
  const seen = new Set(waiting);
  const showFile = (path: string): string => {
    const place = `files/${path}.txt`;
    copies.set(`public/${place}`, path);
    return `/${place}`;
  };
  const toPage = (path: string): string => {
    if (!seen.has(path)) waiting.push(path);
    seen.add(path);
    return `/${placeOf(path)}`;
  };
  const target = (path: string): string | undefined => {
    if (repository.isFile(path)) {
      if (path.endsWith('.md')) return toPage(path);
      if (!PICTURE.test(path)) return showFile(path);
      copies.set(`public/${path}`, path);
      return `/${path}`;
    }
    if (!repository.isFolder(path)) return undefined;
    if (repository.isFile(`${path}/README.md`)) return toPage(`${path}/README.md`);
    const place = `files/${path}/index.md`;
    const files = repository.list(path);
    const rows = files.map((name) => `- [${name}](${showFile(`${path}/${name}`)})`);
    pages.set(place, `# Files in ${path}\n\n${rows.join('\n')}\n`);
    return `/${place}`;
  };
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const folder = next.includes('/') ? next.slice(0, next.lastIndexOf('/')) : '';
    const text = repository
      .read(next)
      .replaceAll(COMMENT, '')
      .replaceAll(CODE_OR_LINK, (whole, code: string | undefined, link = '') => {
        if (code !== undefined || /^(?:[a-z]+:|#)/.test(link)) return whole;
        const [path = '', anchor] = link.split('#');
        const place = target(resolved(folder, path));
        return place === undefined ? whole : `](${place}${anchor === undefined ? '' : `#${anchor}`})`;
      });
    pages.set(placeOf(next), text);
  }
  return { pages, copies };
}

/** `path` as a page in `folder` means it, from the root of the repository. */
function resolved(folder: string, path: string): string {
  const parts = folder === '' ? [] : folder.split('/');
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return parts.join('/');
}

/** An entry of the list beside each page. */
export interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly items?: readonly SidebarItem[];
  readonly collapsed?: boolean;
}

/** The list beside each page, from the home page as {@link siteSources} writes it: a group for each section, and one in it for each column or row of links. */
export function sidebarOf(home: string): readonly SidebarItem[] {
  return home
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const [heading = '', ...lines] = section.split('\n');
      const items = itemsOf(lines);
      const text = heading.split(':')[0] ?? heading;
      return items.length === 0 ? [] : [{ text, items, collapsed: text === 'Reference' }];
    });
}

function itemsOf(lines: readonly string[]): readonly SidebarItem[] {
  const table = lines.filter((line) => line.startsWith('|')).map(cellsOf);
  const [header = [], , ...rows] = table;
  const columns = header.map((_, column) => rows.flatMap((cells) => linksIn(cells[column] ?? '')));
  const filled = columns.flatMap((links, column) => (links.length === 0 ? [] : [column]));
  if (filled.length > 1) return filled.map((column) => ({ text: header[column] ?? '', items: columns[column] ?? [] }));
  const [only] = filled;
  if (only === undefined || only === 0) return lines.flatMap(linksIn);
  return rows.map((cells) => ({ text: cells[0] ?? '', items: linksIn(cells[only] ?? '') }));
}

function cellsOf(line: string): readonly string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function linksIn(text: string): readonly SidebarItem[] {
  return [...text.matchAll(/\[([^\]]+)\]\((\/[^)#]*)\.md(?:#[^)]*)?\)/g)].map(([, words = '', place = '']) => ({
    text: words.charAt(0).toUpperCase() + words.slice(1),
    link: place,
  }));
}
