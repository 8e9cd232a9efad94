import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { billOfMaterials, type BillComponent } from './bill-of-materials.ts';
import { architectureOf, type Architecture } from './elf.ts';
import { coxswainVersion, IMAGES, ROOT, type ImageContent, type ImageName } from './image-names.ts';
import { makeReadable } from './readable.ts';
import { packageComponents, productionPackages, workspaceLink } from './production-packages.ts';

/** Where the context of one image is made, and for which architecture. */
export interface StageOptions {
  /** Gets the Dockerfile and `root`; what lay there goes. */
  readonly directory: string;
  readonly architecture: Architecture;
  /** The Node that goes into images, for that architecture. */
  readonly nodePath: string;
  /** What the base holds, where that is known. */
  readonly baseComponents?: readonly BillComponent[];
}

const HOME = '/opt/coxswain';
/** Where an image keeps its bill of materials (CycloneDX JSON). */
export const BILL_PATH = '/usr/share/doc/coxswain/sbom.cdx.json';
const NOT_FOR_RUNNING = /\.(spec|itest|bench)\.tsx?$|\.d\.[cm]?ts$|\.map$/;
const NO_FOLDERS = new Set(['testing', 'tests', '__pycache__', '.pytest_cache']);

/** Makes the context of an image's Dockerfile: all that the image adds to its base, with its bill of materials. */
export async function stageImage(name: ImageName, options: StageOptions): Promise<void> {
  const { directory } = options;
  const content: ImageContent = IMAGES[name];
  const root = join(directory, 'root');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  copyFileSync(join(ROOT, 'images', name, 'Dockerfile'), join(directory, 'Dockerfile'));
  for (const { from, to } of content.files) copyTo(join(ROOT, from), join(root, to));
  const added = [...(options.baseComponents ?? [])];
  if (content.workspace !== undefined) {
    await stageWorkspace(content.workspace, root);
    copyTo(options.nodePath, join(root, 'usr/local/bin/node'));
    added.push(nodeComponent(), ...(await packageComponents(content.workspace)));
  } else if (name === 'launcher') {
    added.push(nodeComponent(), ...(await packageComponents('apps/launcher')));
  }
  for (const program of programsOf(root)) refuseOtherProcessor(program, options.architecture);
  copyText(
    billOfMaterials({ type: 'container', name: `coxswain/${name}`, version: coxswainVersion() }, added),
    join(root, BILL_PATH),
  );
  makeReadable(root);
}

async function stageWorkspace(workspace: string, root: string): Promise<void> {
  const home = join(root, HOME);
  const { workspaces, installed } = await productionPackages(workspace);
  copyTo(join(ROOT, 'package.json'), join(home, 'package.json'));
  for (const folder of workspaces) {
    const { name } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as { name: string };
    copyTo(join(ROOT, folder, 'package.json'), join(home, folder, 'package.json'));
    copyTo(join(ROOT, folder, 'src'), join(home, folder, 'src'));
    const { at, to } = workspaceLink(name, folder);
    mkdirSync(dirname(join(home, at)), { recursive: true });
    symlinkSync(to, join(home, at));
  }
  for (const folder of installed) {
    // An optional package may be for another system, and then is not here.
    if (existsSync(join(ROOT, folder))) copyTo(join(ROOT, folder), join(home, folder));
  }
}

/** Without what only tests, compilers and debuggers read; packages within a package are listed on their own. */
function copyTo(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, {
    recursive: true,
    dereference: true,
    filter: (path) => {
      const name = basename(path);
      const ownModules = name === 'node_modules' && path !== from;
      return !ownModules && !NO_FOLDERS.has(name) && !NOT_FOR_RUNNING.test(name);
    },
  });
}

function copyText(text: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, text);
}

function programsOf(root: string): readonly string[] {
  const paths = ['usr/local/bin/node', 'usr/local/bin/coxswain-launcher'].map((path) => join(root, path));
  return paths.filter((path) => existsSync(path));
}

function refuseOtherProcessor(path: string, wanted: Architecture): void {
  const found = architectureOf(path);
  if (found !== wanted)
    throw new Error(`${path} is for ${found}, and the image for ${wanted}: build it on such a machine`);
  chmodSync(path, 0o755);
}

function nodeComponent(): BillComponent {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'tools/node-binaries.json'), 'utf8')) as { version: string };
  return { type: 'application', name: 'node', version, purl: `pkg:generic/node@${version}` };
}
