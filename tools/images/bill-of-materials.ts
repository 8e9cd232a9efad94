import { ComponentType, HashAlgorithm } from '@cyclonedx/cyclonedx-library/Enums';
import { Factories } from '@cyclonedx/cyclonedx-library/Contrib/License';
import { Bom, Component, HashDictionary, LicenseRepository } from '@cyclonedx/cyclonedx-library/Models';
import { JSON as CycloneDxJson, JsonSerializer } from '@cyclonedx/cyclonedx-library/Serialize';
import { Spec1dot6 } from '@cyclonedx/cyclonedx-library/Spec';
import checkExpression from 'spdx-expression-parse';

const TYPES = {
  library: ComponentType.Library,
  application: ComponentType.Application,
  container: ComponentType.Container,
} as const;

/** What a bill of materials is about. */
export interface BillSubject {
  readonly type: keyof typeof TYPES;
  readonly name: string;
  readonly version: string;
}

/** A component of a bill of materials. */
export interface BillComponent extends BillSubject {
  readonly purl: string;
  /** An SPDX identifier, an expression of them, or the name of another license. */
  readonly license?: string;
  /** Of the archive, in hexadecimal digits. */
  readonly hash?: readonly [algorithm: 'SHA-256' | 'SHA-512', content: string];
}

/**
 * One CycloneDX document of all that `subject` adds or stands on. A component that is there twice, in two folders, is listed once. The same components
 * give the same bytes: the document has no time and no serial number.
 */
export function billOfMaterials(subject: BillSubject, components: readonly BillComponent[]): string {
  const bom = new Bom();
  const { type, name, version } = subject;
  bom.metadata.component = new Component(TYPES[type], name, { version, bomRef: 'subject' });
  for (const component of new Map(components.map((one) => [one.purl, one])).values())
    bom.components.add(described(component));
  const serializer = new JsonSerializer(new CycloneDxJson.Normalize.Factory(Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

const licenses = new Factories.LicenseFactory(checkExpression);

function described({ type, name, version, purl, license, hash }: BillComponent): Component {
  const component = new Component(TYPES[type], name, { version, purl, bomRef: purl });
  if (license !== undefined) component.licenses = new LicenseRepository([licenses.makeFromString(license)]);
  if (hash !== undefined) component.hashes = new HashDictionary([[ALGORITHMS[hash[0]], hash[1]]]);
  return component;
}

const ALGORITHMS = { 'SHA-256': HashAlgorithm['SHA-256'], 'SHA-512': HashAlgorithm['SHA-512'] } as const;

/** What a component says of an npm package. */
export interface PackageFacts {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  /** As the lock has it: `sha512-` and base64. Workspaces have none. */
  readonly integrity?: string;
}

/** An npm package as a component. */
export function packageComponent({ name, version, license, integrity }: PackageFacts): BillComponent {
  const sha512 = /^sha512-(\S+)/.exec(integrity ?? '')?.[1];
  return {
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(license !== undefined && { license }),
    ...(sha512 !== undefined && { hash: ['SHA-512', Buffer.from(sha512, 'base64').toString('hex')] as const }),
  };
}

/** What dpkg knows as installed: its status file, as components. */
export function debianComponents(status: string): readonly BillComponent[] {
  return status
    .split(/\n{2,}/)
    .map((paragraph) => ({
      name: field(paragraph, 'Package'),
      version: field(paragraph, 'Version'),
      architecture: field(paragraph, 'Architecture'),
    }))
    .flatMap(({ name, version, architecture }) =>
      name === undefined || version === undefined
        ? []
        : [
            {
              type: 'library' as const,
              name,
              version,
              purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture ?? 'all'}`,
            },
          ],
    );
}

function field(paragraph: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)$`, 'm').exec(paragraph)?.[1];
}
