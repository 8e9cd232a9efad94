import { stringify } from 'yaml';
import { POSTGRES } from '../images/postgres.ts';

/** Where the chart names an image, by the name of the image. */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  operator: ['operator', 'image'],
  launcher: ['operator', 'launcherImage'],
  api: ['api', 'image'],
  postgres: ['database', 'embedded', 'image'],
};

/** An image of the release: `digest` is what a registry gives it. */
export interface ReleasedImage {
  readonly name: string;
  readonly tag: string;
  readonly digest: string;
}

/** Values of the chart that name the images of a release by digest, so that nodes run these bytes whatever somebody pushes to the tags. */
export function imageValues(images: readonly ReleasedImage[]): string {
  const values: Record<string, unknown> = {};
  for (const { name, tag, digest } of images) {
    const place = PLACES[name];
    if (place === undefined) continue; // Such as the command line, which the chart does not start.
    setAt(values, place, { repository: `coxswain/${name}`, tag, digest });
  }
  if (images.some(({ name }) => name === 'postgres')) {
    setAt(values, ['database', 'embedded', 'runAsUser'], POSTGRES.runAsUser);
  }
  return `# The images of this release. Set image.registry to the registry that you copied them to.\n${stringify(values)}`;
}

function setAt(values: Record<string, unknown>, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) values[first] = value;
  else setAt((values[first] ??= {}) as Record<string, unknown>, rest, value);
}
