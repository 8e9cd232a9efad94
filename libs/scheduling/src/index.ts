export { Admission } from './admission.ts';
export type { AdmissionView } from './admission-view.ts';
export type { GangRequest, PlacementRefusal } from './gang-request.ts';
export { waitsForCapacity } from './order/waits-for.ts';
export { isRecordedPlacement, placementSha256 } from './reservations/recorded-placement.ts';
