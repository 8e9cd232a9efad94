import { isConflict, isKindUnknown, type KubeClient, type KubeObject } from '@coxswain/kube';
import { PLACEMENT_CHECK_CONTROLLER } from '@coxswain/scheduling';
import { kueuePath } from '../cluster/paths.ts';

interface AdmissionCheck extends KubeObject {
  readonly spec?: { readonly controllerName?: unknown };
  readonly status?: { readonly conditions?: readonly { readonly type?: unknown; readonly status?: unknown }[] };
}

interface AdmissionChecksParts {
  readonly client: Pick<KubeClient, 'list' | 'patch'>;
  readonly clock: { now(): Date };
}

/** The AdmissionChecks that name the operator as their controller. A ClusterQueue admits nothing until its checks are Active, so the operator marks them. */
export class AdmissionChecks {
  readonly #parts: AdmissionChecksParts;
  #names: ReadonlySet<string> = new Set();

  constructor(parts: AdmissionChecksParts) {
    this.#parts = parts;
  }

  /** As they were read last. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  /** Reads them, and marks those that are not Active. Returns whether the cluster serves the kind. */
  async keep(): Promise<boolean> {
    const { client } = this.#parts;
    try {
      const { items } = await client.list<AdmissionCheck>(kueuePath('admissionchecks'));
      const own = items.filter(({ spec }) => spec?.controllerName === PLACEMENT_CHECK_CONTROLLER);
      this.#names = new Set(own.map(({ metadata }) => metadata.name));
      for (const check of own) if (!isActive(check)) await this.#activate(check);
      return true;
    } catch (error) {
      if (!isKindUnknown(error)) throw error;
      this.#names = new Set();
      return false;
    }
  }

  async #activate({ metadata, status }: AdmissionCheck): Promise<void> {
    const { client, clock } = this.#parts;
    const { name, uid, resourceVersion } = metadata;
    const active = {
      type: 'Active',
      status: 'True',
      reason: 'Active',
      message: 'The operator of Coxswain answers this check.',
      lastTransitionTime: clock.now().toISOString(),
    };
    const others = (status?.conditions ?? []).filter(({ type }) => type !== 'Active');
    const body = { metadata: { uid, resourceVersion }, status: { conditions: [...others, active] } };
    try {
      await client.patch(kueuePath('admissionchecks', { name }), body, { type: 'merge', subresource: 'status' });
    } catch (error) {
      // Changed meanwhile: the next round reads it.
      if (!isConflict(error)) throw error;
    }
  }
}

function isActive({ status }: AdmissionCheck): boolean {
  return (status?.conditions ?? []).some((one) => one.type === 'Active' && one.status === 'True');
}
