export { Admission } from './cluster-scheduler.ts';
export type { AdmissionView } from './scheduler-view.ts';
export type { GangRequest, PlacementRefusal } from './gang-request.ts';
export { waitsForCapacity } from './order/waiting-jobs.ts';
export { isRecordedPlacement, placementSha256 } from './reservations/recorded-placement.ts';
