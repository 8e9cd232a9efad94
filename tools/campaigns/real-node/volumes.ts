import type { ControlPlane } from '@coxswain/local-cluster';
import { chmodSync, copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { HostFolder } from './engine-python.ts';
import { claimOf, pythonClaimObjects, restrictedNamespace, NAMESPACE } from './job-objects.ts';

const CORPUS = join(import.meta.dirname, '../../../examples/data/logbook.txt');

/** The namespace of jobs, with claims on folders that every node can mount. */
export class Volumes {
  readonly #plane: ControlPlane;
  readonly #directory: string;

  constructor(plane: ControlPlane, directory: string) {
    this.#plane = plane;
    this.#directory = directory;
  }

  async make(python: readonly HostFolder[]): Promise<void> {
    const objects = ['corpus', 'checkpoints'].flatMap((name) => {
      const path = this.folderOf(name);
      mkdirSync(path, { recursive: true });
      // A volume of this kind knows no group, as NFS: the user of jobs must be let in.
      chmodSync(path, 0o777);
      return claimOf(name, path);
    });
    copyFileSync(CORPUS, join(this.#directory, 'corpus/logbook.txt'));
    await this.apply([restrictedNamespace(NAMESPACE), ...objects, ...pythonClaimObjects(python)]);
    const names = ['corpus', 'checkpoints', ...python.map((_, index) => `python-${index}`)];
    const claims = names.map((name) => `pvc/${name}`);
    const bound = ['wait', '--for=jsonpath={.status.phase}=Bound', '--timeout=60s'];
    await this.#plane.kubectl(['-n', NAMESPACE, ...bound, ...claims]);
  }

  /** Where a claim lies on this machine. */
  folderOf(claim: string): string {
    return join(this.#directory, claim);
  }

  async apply(objects: readonly object[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    await this.#plane.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(list) });
  }
}
