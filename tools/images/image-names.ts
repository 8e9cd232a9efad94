import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Absolute path of the repository. */
export const ROOT = join(import.meta.dirname, '../..');

/** What an image is made of; its Dockerfile lies in `images/<name>`. */
export interface ImageContent {
  /** Workspace whose packages and sources go into the image; undefined where it has no Node. */
  readonly workspace?: string;
  /** Files and folders of this repository beside those, each as `from` here and `to` in the image. */
  readonly files: readonly { readonly from: string; readonly to: string }[];
}

const HOME = '/opt/coxswain';
const here = (path: string): { readonly from: string; readonly to: string } => ({ from: path, to: `${HOME}/${path}` });

/** Every image that is published, in the order in which they are built. */
export const IMAGES = {
  operator: { workspace: 'apps/operator', files: [] },
  api: {
    workspace: 'apps/api',
    files: ['apps/api/dist', 'apps/dashboard/dist', 'migrations'].map(here),
  },
  launcher: {
    files: [{ from: 'apps/launcher/dist/coxswain-launcher', to: '/usr/local/bin/coxswain-launcher' }],
  },
  cli: { workspace: 'apps/cli', files: ['apps/cli/bin'].map(here) },
  'engine-reference': { files: ['engines/agent', 'engines/reference'].map(here) },
} as const satisfies Record<string, ImageContent>;

/** Name of an image, which is also the name of its folder below `images/`. */
export type ImageName = keyof typeof IMAGES;

/** Every {@link ImageName}, in the order in which images are built. */
export const IMAGE_NAMES = Object.keys(IMAGES) as ImageName[];

/** The version that images, chart and packages share. */
export function coxswainVersion(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
}
