/**
 * `npm run docs:site`: builds the documentation as a site with search into dist/docs-site. It needs no server: any that serves files will do.
 *
 * VitePress is installed here and not with the packages of the repository, because nothing else needs its 100 MB.
 */
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Repository, sidebarOf, siteSources } from './site-pages.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const HERE = import.meta.dirname;
const SOURCES = join(ROOT, '.coxswain/docs-site');
const OUT = join(ROOT, 'dist/docs-site');
const VITEPRESS = join(HERE, 'node_modules/vitepress/bin/vitepress.js');

/** Words in cells of a table break, so that the table fits its page. */
const STYLE = `.vp-doc td code { white-space: normal; overflow-wrap: anywhere; }
.vp-doc td { vertical-align: top; min-width: 9em; }
`;

const HELP = `
npm run docs:site [-- OPTIONS]
  --base PATH   path below which the site will be served, such as /docs/; / unless said
  --serve       serve the site on this machine after the build
  --help        this text

The site is written to dist/docs-site. The first build installs VitePress into tools/docs-site.
`;

const repository: Repository = {
  isFile: (path) => existsSync(join(ROOT, path)) && statSync(join(ROOT, path)).isFile(),
  isFolder: (path) => existsSync(join(ROOT, path)) && statSync(join(ROOT, path)).isDirectory(),
  read: (path) => readFileSync(join(ROOT, path), 'utf8'),
  list: (folder) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && !/node_modules|__pycache__/.test(entry.parentPath))
      .map((entry) => join(entry.parentPath, entry.name).slice(join(ROOT, folder).length + 1))
      .sort(),
};

process.exitCode = await main();

async function main(): Promise<number> {
  try {
    const { values } = parseArgs({
      options: { base: { type: 'string', default: '/' }, serve: { type: 'boolean' }, help: { type: 'boolean' } },
    });
    return values.help === true ? help() : await buildSite(values.base, values.serve === true);
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS_')) throw error;
    console.error(`error: ${(error as Error).message}\n${HELP}`);
    return 2;
  }
}

function help(): number {
  console.log(HELP);
  return 0;
}

async function buildSite(base: string, serves: boolean): Promise<number> {
  if (!/^\/(?:.*\/)?$/.test(base)) {
    console.error(`error: --base ${base}: it must begin and end with a slash, such as /docs/`);
    return 2;
  }
  if (!existsSync(VITEPRESS)) {
    console.log('installs VitePress (about 20 s)');
    const installed = await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], HERE);
    if (installed !== 0) return installed;
  }
  const count = writeSources(base);
  console.log(`builds ${count} pages (about 15 s)`);
  const built = await run(process.execPath, [VITEPRESS, 'build', SOURCES], ROOT);
  if (built !== 0) return built;
  console.log(`wrote dist/docs-site. To look at it: npm run docs:site -- --serve`);
  return serves ? run(process.execPath, [VITEPRESS, 'preview', SOURCES], ROOT) : 0;
}

/** Writes what VitePress reads. Returns the number of pages. */
function writeSources(base: string): number {
  const docs = globSync('docs/**/*.md', { cwd: ROOT }).sort();
  const { pages, copies } = siteSources(docs, repository);
  rmSync(SOURCES, { recursive: true, force: true });
  for (const [place, text] of pages) write(place, text);
  for (const [place, path] of copies) {
    mkdirSync(dirname(join(SOURCES, place)), { recursive: true });
    cpSync(join(ROOT, path), join(SOURCES, place));
  }
  write('.vitepress/theme/index.js', "import './site.css';\nexport { default } from 'vitepress/theme';\n");
  write('.vitepress/theme/site.css', STYLE);
  write('.vitepress/config.mjs', configText(base, sidebarOf(pages.get('index.md') ?? '')));
  return pages.size;
}

function write(place: string, text: string): void {
  mkdirSync(dirname(join(SOURCES, place)), { recursive: true });
  writeFileSync(join(SOURCES, place), text);
}

function configText(base: string, sidebar: ReturnType<typeof sidebarOf>): string {
  const config = {
    title: 'Coxswain',
    description: 'A Kubernetes control plane for training large models',
    base,
    outDir: OUT,
    cleanUrls: false,
    lastUpdated: false,
    // Pages are Markdown as Git servers show it: <words> in them are text.
    markdown: { html: false },
    themeConfig: {
      search: { provider: 'local' },
      outline: [2, 3],
      sidebar,
      nav: [
        { text: 'First job', link: '/tutorials/first-training-job' },
        { text: 'Install', link: '/tasks/install' },
        { text: 'Troubleshooting', link: '/reference/generated/troubleshooting' },
        { text: 'Changes', link: '/changelog' },
      ],
    },
  };
  return `const config = ${JSON.stringify(config, null, 2)};
// Links to headings are written as Git servers name them.
config.markdown.anchor = { slugify: (text) => text.toLowerCase().replaceAll(/[^\\p{L}\\p{N} _-]/gu, '').trim().replaceAll(' ', '-') };
// Who searches wants to do something; why it is built like this comes last.
config.themeConfig.search.options = {
  miniSearch: { searchOptions: { boostDocument: (id) => (id.includes('/adr/') ? 0.2 : id.includes('/tasks/') ? 2 : 1) } },
};
// Tables of facts are wide.
config.transformPageData = (page) => {
  if (page.relativePath.startsWith('reference/')) page.frontmatter.aside = false;
};
export default config;
`;
}

function run(program: string, args: readonly string[], cwd: string): Promise<number> {
  return new Promise((settle, reject) => {
    const child = spawn(program, args, { cwd, stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (code) => settle(code ?? 1));
  });
}
