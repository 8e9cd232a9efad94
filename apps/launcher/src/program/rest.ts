/** Says that it rests, and waits for SIGTERM or SIGINT. */
export async function untilToldToEnd(): Promise<void> {
  // A process that only waits for a signal has nothing that keeps Node running.
  const alive = setInterval(() => undefined, 2 ** 30);
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
    process.stdout.write('[launcher] rests until it is told to end\n');
  });
  clearInterval(alive);
}
