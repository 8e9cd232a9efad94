/** A component of a CycloneDX document; more fields of others are kept as they are. */
export interface BillComponent {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly object[];
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[];
}

/** One document of all that an image adds or stands on. A component that is there twice, in two folders, is listed once. */
export function billOfMaterials(
  image: { readonly name: string; readonly version: string },
  components: readonly BillComponent[],
): string {
  const component = { type: 'container', name: `coxswain/${image.name}`, version: image.version, 'bom-ref': 'image' };
  const listed = [...new Map(components.map((one) => [one.purl, { 'bom-ref': one.purl, ...one }])).values()];
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component },
    components: listed,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

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
    ...(license !== undefined && { licenses: [licenseOf(license)] }),
    ...(sha512 !== undefined && {
      hashes: [{ alg: 'SHA-512' as const, content: Buffer.from(sha512, 'base64').toString('hex') }],
    }),
  };
}

function licenseOf(license: string): object {
  return / (OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } };
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
              type: 'library',
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
