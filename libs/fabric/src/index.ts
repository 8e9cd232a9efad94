export { acrossIslandsOf } from './capacity/across-islands.ts';
export { assumedTraffic, trafficOf } from './traffic/assumed-traffic.ts';
export { FABRIC_LABELS } from './nodes/dialects.ts';
export { weightedBytes } from './traffic/boundary-weights.ts';
export { crossingBytes } from './traffic/crossing-bytes.ts';
export { changeSentence, formatFactChange } from './snapshots/change-sentence.ts';
export { deviceCount, isDevice } from './nodes/device-count.ts';
export type { DraAttributes, Fabric, FabricCapacity, FabricNode, NodeFacts, Reserve } from './nodes/fabric.ts';
export { type ChangeCounts, fabricChanges } from './snapshots/fabric-changes.ts';
export { fabricFromNodes } from './nodes/from-nodes.ts';
export { readNodes } from './nodes/node-reading.ts';
export { changeUnderGang, placesOf } from './snapshots/gang-changes.ts';
export type { AcrossIslands } from './traffic/gang-shape.ts';
export { groupReach } from './traffic/group-reach.ts';
export type { GroupReach } from './traffic/group-reach.ts';
export { factsOfNode, useOfPod, usedGpusOf } from './nodes/kube-objects.ts';
export { areSameFacts, selectedKeys, withBoundedLabels, withFabricLabels } from './nodes/kept-labels.ts';
export { columnsOf, type NodeColumns, nodesOf, type RecordedNode, recordedNode } from './snapshots/node-columns.ts';
export { isSchedulable, nodesFor } from './traffic/node-demand.ts';
export type { NodeDemand } from './traffic/node-demand.ts';
export { cheaperPods, cheaperPodsText, type OtherPods } from './place/other-pods.ts';
export { isInOwnDomain } from './nodes/own-domain.ts';
export { namedSwitch, ownNameOf, placeName } from './nodes/place-name.ts';
export { leastWeightedBytes } from './place/placement-bound.ts';
export { findNodes, placeGang, whyNotPlaced } from './place/placement.ts';
export type { PlacementOutcome } from './place/placement.ts';
export { capacityToReplace, reserveInWords } from './capacity/reserve.ts';
export { repairPlacement } from './place/repair-placement.ts';
export { keptUnlessWorse, replaceNodes } from './place/replace.ts';
export type { PlacedGang } from './place/replace.ts';
export { fewerStandbys, standbyNodes } from './place/standby-nodes.ts';
export { withOverrides } from './nodes/overrides.ts';
export {
  closedTimeOf,
  LEAVE_BEFORE_MS,
  type NodeWindow,
  windowInTheWay,
  windowProblems,
  windowsOfNode,
} from './nodes/windows.ts';
export { placesFromText, placesToText } from './snapshots/recorded-places.ts';
export { labelChange, publishedLabels, publishedOf } from './nodes/published-labels.ts';
export { fabricProblems, MAX_FABRIC_PROBLEMS } from './nodes/problems.ts';
export type { FabricProblem } from './nodes/problem.ts';
export {
  draDevicesByNode,
  ListedSlices,
  RESOURCE_SLICES,
  sliceOfNode,
  SLICES_INTERVAL_MS,
  SLICES_PER_PAGE,
} from './nodes/resource-slices.ts';
export { type StageGpus, stageGpusProblem } from './traffic/stage-gpus.ts';
export { snapshotChunks } from './snapshots/snapshot-chunks.ts';
export { mayRecord, type RecordedBefore } from './snapshots/snapshot-pace.ts';
export { summarize } from './nodes/summary.ts';
export { uncountedNodes, uncountedPods } from './nodes/uncounted.ts';
export { assumedReachSentence } from './capacity/assumed-reach.ts';
export { unlabelledSentence } from './capacity/unlabelled-nodes.ts';
export { trafficGroups } from './traffic/traffic-groups.ts';
export type { TrafficGroupSet } from './traffic/traffic-groups.ts';
export { BOUNDARIES } from './traffic/traffic.ts';
export type { Boundary, CrossingBytes, GroupTraffic, LayoutTraffic, TrafficKind } from './traffic/traffic.ts';
