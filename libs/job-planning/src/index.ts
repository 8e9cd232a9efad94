export { planJob } from './plan-job.ts';
