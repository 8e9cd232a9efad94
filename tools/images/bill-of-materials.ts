/** A component of a CycloneDX document; more fields of others are kept as they are. */
export interface BillComponent {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly 'bom-ref'?: string;
}

interface Bill {
  readonly metadata?: object;
  readonly components?: readonly object[];
}

/** One document of all that an image adds or stands on. `bill` is npm's, of the packages; undefined where the image has none. */
export function billOfMaterials(
  image: { readonly name: string; readonly version: string },
  bill: string | undefined,
  components: readonly BillComponent[],
): string {
  const packages = bill === undefined ? emptyBill() : (JSON.parse(bill) as Bill);
  const component = { type: 'container', name: `coxswain/${image.name}`, version: image.version, 'bom-ref': 'image' };
  const added = components.map((one) => ({ 'bom-ref': one.purl, ...one }));
  const document = {
    ...packages,
    metadata: { ...packages.metadata, component },
    components: [...(packages.components ?? []), ...added],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function emptyBill(): Bill {
  return { bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, components: [] } as Bill;
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
