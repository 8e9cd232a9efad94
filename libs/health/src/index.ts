/** Who is to blame: why ranks ended, which rank the others wait for, who is slow, and what shows it. */
export { LOG_PATTERNS } from './crash/log-patterns.ts';
