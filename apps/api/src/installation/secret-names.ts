/** Secrets that a Job of the chart makes, and that outlive an uninstall as the claim with the data does. */
export const PASSWORDS_SECRET = 'coxswain-database-passwords';
/** The same keys as the one that an external database is given by. */
export const URLS_SECRET = 'coxswain-database-urls';
