export { acrossIslandsOf } from './across-islands.ts';
export { assumedTraffic, trafficOf } from './assumed-traffic.ts';
export { FABRIC_LABELS } from './dialects.ts';
export { weightedBytes } from './boundary-weights.ts';
export { crossingBytes } from './crossing-bytes.ts';
export { changeSentence, factSaid } from './change-sentence.ts';
export { deviceCount, isDevice } from './device-count.ts';
export type { DraAttributes, Fabric, FabricCapacity, FabricNode, NodeFacts, Reserve } from './fabric.ts';
export { type ChangeCounts, fabricChanges } from './fabric-changes.ts';
export { fabricFromNodes } from './from-nodes.ts';
export { changeUnderGang, placesOf } from './gang-changes.ts';
export type { AcrossIslands } from './gang-shape.ts';
export { groupReach } from './group-reach.ts';
export type { GroupReach } from './group-reach.ts';
export { factsOfNode, useOfPod, usedGpusOf } from './kube-objects.ts';
export { areSameFacts, selectedKeys, withBoundedLabels, withFabricLabels } from './kept-labels.ts';
export { columnsOf, type NodeColumns, nodesOf, type RecordedNode, recordedNode } from './node-columns.ts';
export { isSchedulable, nodesFor } from './node-demand.ts';
export type { NodeDemand } from './node-demand.ts';
export { cheaperPods, cheaperPodsText, type OtherPods } from './other-pods.ts';
export { isInOwnDomain } from './own-domain.ts';
export { namedSwitch, ownNameOf, placeName } from './place-name.ts';
export { leastWeightedBytes } from './placement-bound.ts';
export { findNodes, placeGang, whyNotPlaced } from './placement.ts';
export type { PlacementOutcome } from './placement.ts';
export { capacityToReplace, reserveInWords } from './reserve.ts';
export { keptUnlessWorse, replaceNodes } from './replace.ts';
export type { PlacedGang } from './replace.ts';
export { withOverrides } from './overrides.ts';
export { placesFromText, placesToText } from './recorded-places.ts';
export { labelChange, publishedLabels, publishedOf } from './published-labels.ts';
export { fabricProblems, MAX_FABRIC_PROBLEMS } from './problems.ts';
export type { FabricProblem } from './problem.ts';
export {
  draDevicesByNode,
  ListedSlices,
  RESOURCE_SLICES,
  sliceOfNode,
  SLICES_INTERVAL_MS,
  SLICES_PER_PAGE,
} from './resource-slices.ts';
export { type StageGpus, stageGpusProblem } from './stage-gpus.ts';
export { snapshotChunks } from './snapshot-chunks.ts';
export { mayRecord, type RecordedBefore } from './snapshot-pace.ts';
export { summarize } from './summary.ts';
export { uncountedNodes, uncountedPods } from './uncounted.ts';
export { unlabelledSentence } from './unlabelled-nodes.ts';
export { trafficGroups } from './traffic-groups.ts';
export type { TrafficGroupSet } from './traffic-groups.ts';
export { BOUNDARIES } from './traffic.ts';
export type { Boundary, CrossingBytes, GroupTraffic, LayoutTraffic, TrafficKind } from './traffic.ts';
