export { jobPlanning, isRefusalOf } from './job-plan-question.ts';
export type { JobPlanAnswer, JobPlanQuestion } from './job-plan-question.ts';
export { planJob } from './plan-job.ts';
export type { PlanJobOptions } from './plan-job.ts';
export { layoutTraffic } from './layout-traffic.ts';
export { placedCluster } from './placed-cluster.ts';
export { jobTraffic } from './job-traffic.ts';
export { capacityWithout, nodeSearchKey, searchNodes } from './search-nodes.ts';
export type { FoundNodes, NodeSearch } from './search-nodes.ts';
