/** What the log says when the quarantine of a node changes. */
export const QUARANTINE_MESSAGES = {
  quarantined:
    'a node is in quarantine and takes no jobs; its annotation has the reason, and docs/reference/failures.md describes how to release it',
  released: 'a node in quarantine was rebooted and takes jobs again',
  overruled:
    'a person removed the quarantine of a node; it takes jobs again, and only new evidence quarantines it again',
  heldBack:
    'a node seems faulty but is not quarantined, because a tenth of the nodes already are; check for a common cause',
} as const;
