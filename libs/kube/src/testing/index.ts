export { FakeClock, settle } from './fake-clock.ts';
export { FakeKubeApi } from './fake-kube-api.ts';
export { ScriptedWatch, anEvent, anObject, listOf, theEndOfTheList, type WatchStep } from './scripted-watch.ts';
