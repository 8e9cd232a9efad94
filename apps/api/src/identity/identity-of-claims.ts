import { DomainError } from '@coxswain/domain-error';
import { safeText } from '@coxswain/safe-text';

/** A person as the issuer knows it. */
export interface Identity {
  readonly issuer: string;
  /** Never given to another person by that issuer. */
  readonly subject: string;
  /** For people to read; nothing is decided by it. */
  readonly name: string;
  /** Undefined: what was read does not speak of groups. */
  readonly groups: readonly string[] | undefined;
}

/** What an ID token or an answer of the userinfo endpoint says. */
export type Claims = Readonly<Record<string, unknown>>;

/** More are as good as everything: they would have to be looked up for each request. */
export const MAX_GROUPS = 500;
const MAX_GROUP_LENGTH = 256;
const MAX_NAME_LENGTH = 100;

/**
 * The person that claims identify. FORBIDDEN if the person's groups cannot be known: a person with too many (Microsoft Entra ID then sends a marker
 * in place of the list) must not sign in with only some of them.
 */
export function identityOf(
  claims: Claims,
  { issuer, groupsClaim }: { readonly issuer: string; readonly groupsClaim: string },
): Identity {
  const { sub } = claims;
  if (typeof sub !== 'string' || sub === '' || sub.length > 255)
    throw refused('the issuer gave no subject of 1 to 255 characters');
  return { issuer, subject: sub, name: nameOf(claims, sub), groups: groupsOf(claims, groupsClaim) };
}

function nameOf(claims: Claims, subject: string): string {
  const given = ['preferred_username', 'email', 'name']
    .map((claim) => claims[claim])
    .find((value) => typeof value === 'string' && value !== '');
  return safeText(String(given ?? subject).replaceAll(/\s+/g, ' '), MAX_NAME_LENGTH);
}

function groupsOf(claims: Claims, claim: string): readonly string[] | undefined {
  const elsewhere = claims['_claim_names'];
  const isOverage = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim);
  if (isOverage || claims['hasgroups'] === true) {
    throw refused(
      `the issuer does not list your groups, because they are too many for a token; have it give only those of this application (${claim})`,
    );
  }
  if (!Object.hasOwn(claims, claim)) return undefined;
  const value = claims[claim];
  const groups = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === 'string')) {
    throw refused(`the claim "${claim}" of the issuer is not a list of names`);
  }
  if (groups.length > MAX_GROUPS)
    throw refused(`the issuer lists ${groups.length} groups; at most ${MAX_GROUPS} are read`);
  return [...new Set(groups as readonly string[])]
    .filter((group) => group !== '' && group.length <= MAX_GROUP_LENGTH)
    .sort();
}

function refused(detail: string): DomainError {
  return new DomainError('FORBIDDEN', `you cannot be signed in: ${detail}`);
}
