import { EventEmitter } from 'node:events';
import { abortOnDisconnect } from './client-disconnect.ts';

/** An answer that is still to be sent. */
const anAnswer = (facts: { destroyed?: boolean; writableFinished?: boolean } = {}) =>
  Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false, ...facts });

describe('whoever asked', () => {
  it.each([
    ['is there while nothing happens', anAnswer(), false, false],
    ['has gone when the connection closes before the answer', anAnswer(), true, true],
    ['is told the answer, and then the connection closes', anAnswer({ writableFinished: true }), true, false],
    ['had gone before anybody looked', anAnswer({ destroyed: true }), false, true],
  ])('%s', (_sentence, answer, closes, want) => {
    const signal = abortOnDisconnect(answer as never);
    if (closes) answer.emit('close');
    expect(signal.aborted).toBe(want);
    if (want) expect(signal.reason).toMatchObject({ code: 'UNAVAILABLE' });
  });
});
