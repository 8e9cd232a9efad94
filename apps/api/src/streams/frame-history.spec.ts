import { type Beside, type Framed, FrameHistory } from './frame-history.ts';

const frames = (...places: number[]): readonly Framed[] =>
  places.map((place) => ({ place, frame: Buffer.from(`data: ${String(place).padStart(3, '0')}\n`) }));
const plain: Beside = { key: 'plain', placeText: String };
const after = (history: FrameHistory, place: number): readonly number[] =>
  [
    ...history
      .after(place, plain)
      .toString()
      .matchAll(/^data: (.*)$/gm),
  ].map(([, text]) => Number(text));

describe('the newest frames', () => {
  it('are told from a place on', () => {
    const history = new FrameHistory(4, () => 1_000);
    history.append(frames(5, 7));
    history.append(frames(9));
    expect([after(history, 4), after(history, 5), after(history, 9)]).toEqual([[5, 7, 9], [7, 9], []]);
  });

  it('each say where a reader has got to with it, beside what it has seen of the other kind', () => {
    const history = new FrameHistory(4, () => 1_000);
    history.append(frames(5, 7));
    const frameText = (change: number): string =>
      history.after(4, { key: String(change), placeText: (event) => `${event}-${change}` }).toString();
    expect([frameText(1), frameText(2)]).toEqual([
      'data: 005\nid: 5-1\n\ndata: 007\nid: 7-1\n\n',
      'data: 005\nid: 5-2\n\ndata: 007\nid: 7-2\n\n',
    ]);
  });

  it('are the same bytes for all who are told the same, from wherever they come', () => {
    const history = new FrameHistory(4, () => 1_000);
    history.append(frames(5, 7, 9));
    const memory = new Set([4, 4, 5, 7].map((place) => history.after(place, plain).buffer));
    expect(memory.size).toBe(1);
    history.append(frames(11));
    expect(after(history, 7)).toEqual([9, 11]);
  });

  it('cover what came after they begin, and nothing before', () => {
    const history = new FrameHistory(4, () => 1_000);
    expect([history.covers(4), history.covers(3)]).toEqual([true, false]);
  });

  it('lose the oldest when there are too many bytes, and know it', () => {
    const history = new FrameHistory(0, () => 25);
    history.append(frames(1, 2, 3, 4));
    expect([history.from, history.covers(1), after(history, 2)]).toEqual([2, false, [3, 4]]);
  });

  it('are lengthened to the front, each frame once', () => {
    const history = new FrameHistory(4, () => 1_000);
    history.append(frames(5));
    history.prepend(1, frames(2, 4));
    history.prepend(1, frames(2, 4));
    expect([history.from, after(history, 1)]).toEqual([1, [2, 4, 5]]);
  });

  it('are lengthened to the front as far as there is room', () => {
    const history = new FrameHistory(4, () => 25);
    history.append(frames(5));
    history.prepend(1, frames(2, 4));
    expect([history.covers(1), after(history, 2)]).toEqual([false, [4, 5]]);
  });
});
