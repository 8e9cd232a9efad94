import { versionProblem } from './kubernetes-version.ts';

describe('the version check', () => {
  it.each([
    ['accepts the lowest supported version', { major: '1', minor: '31', gitVersion: 'v1.31.0' }, undefined],
    ['accepts a distribution’s suffix', { major: '1', minor: '37+', gitVersion: 'v1.37.0-eks' }, undefined],
    ['names both versions of an old cluster', { major: '1', minor: '30', gitVersion: 'v1.30.4' }, /1\.30; .* 1\.31/],
    ['says so when there is no version', { major: '', minor: '', gitVersion: 'v0.0.0-master' }, /v0\.0\.0-master/],
  ])('%s', (_sentence, version, want) => {
    const seen = versionProblem(version);
    if (want === undefined) expect(seen).toBeUndefined();
    else expect(seen).toMatch(want);
  });
});
