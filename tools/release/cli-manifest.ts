/** What package.json of this repository says that the package of the command line says too. */
export interface RootManifest {
  readonly version: string;
  readonly description: string;
  readonly license: string;
}

/** What package.json of the workspace says: its programs are those of the package. */
export interface CliWorkspace {
  readonly bin: Readonly<Record<string, string>>;
}

/** package.json of the command line's package. If GitHub builds it, `environment` names the repository: npm refuses provenance of any other. */
export function cliManifest(
  { version, description, license }: RootManifest,
  { bin }: CliWorkspace,
  environment: Readonly<Record<string, string | undefined>>,
): object {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = environment;
  const url = server === undefined || name === undefined ? undefined : `git+${server}/${name}.git`;
  return {
    name: 'coxswain',
    version,
    description,
    license,
    ...(url === undefined ? {} : { repository: { type: 'git', url } }),
    type: 'module',
    bin: Object.fromEntries(Object.keys(bin).map((name) => [name, 'dist/coxswain.js'])),
    files: ['dist'],
    engines: { node: '>=24' },
  };
}
