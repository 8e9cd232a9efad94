import type { WhoAmI } from '@coxswain/api-types';

/** Who asks: one API token. `project` is null for cluster administrators. */
export interface Principal {
  readonly tokenId: string;
  readonly name: string;
  readonly role: WhoAmI['role'];
  readonly project: { readonly id: string; readonly name: string } | null;
}
