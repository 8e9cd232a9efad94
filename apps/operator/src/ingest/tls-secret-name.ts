/** Secret in the operator's namespace that holds the authority of the report endpoint's certificates. */
export const REPORT_TLS_SECRET = 'coxswain-report-tls';
