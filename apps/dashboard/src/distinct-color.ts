/** Turns neighbouring numbers into hues far apart. */
const GOLDEN_ANGLE_DEG = 137.508;

/** A color for each number, on which white can be read. */
export function distinctColor(index: number): string {
  return `hsl(${Math.round((200 + index * GOLDEN_ANGLE_DEG) % 360)} 62% 40%)`;
}
